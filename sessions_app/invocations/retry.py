"""Retry of a failed invocation: on its own row, from its events (contract R1)."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from runtime.agents.routing import reason_not_resumable
from runtime.events.calls import events_of_invocation
from sessions_app.agent_apps.registry import get_app
from sessions_app.base import client_ids
from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.errors import ConflictError, NotFoundError
from sessions_app.history.effective_events import effective_events
from sessions_app.history.rewinds import find_rewinds
from sessions_app.invocations.message_event import answers_calls, find_message_event, without_failures
from sessions_app.models import Invocation, InvocationStatus, Session, SessionAct
from sessions_app.models.past_attempts import MAX_KEPT_ATTEMPTS
from sessions_app.process.threads import in_thread


async def failed_invocation(session: Session, invocation_id: str) -> Invocation:
    """Return the invocation, if it failed and is the last of the session.

    Raises:
        NotFoundError: there is no such invocation.
        ConflictError: the invocation did not fail, is being retried, or has a newer invocation after it.
    """
    return await in_thread(_find_failed, session, invocation_id)


async def invocation_of_retry(session: Session, invocation_id: str, retry_id: UUID) -> Invocation | None:
    """Return the invocation begun by a retry, even if it has failed again since; None without such a retry."""
    # A retry queues the failed invocation again under its id, or begins a new invocation with the same message.
    same = Q(invocation_id=invocation_id, past_attempts__contains=[{"retry_id": str(retry_id)}])
    new = Q(client_id=client_ids.of_retry(invocation_id))
    return await in_thread(session.invocations.filter(same | new).order_by("pk").first)


async def queue_again(
    session: Session, invocation_id: str, by: Actor, retry_id: UUID | None = None
) -> Invocation:
    """Queue the failed invocation again, once for concurrent requests. Raise as `failed_invocation`.

    Args:
        retry_id: id of the retry, by which `invocation_of_retry` finds the invocation.
    """
    return await in_thread(_queue_again, session, invocation_id, by, retry_id)


async def must_restart(session: Session, row: Invocation) -> bool:
    """Return True if the agents cannot resume: the user's message must be sent again."""
    # An answer to a call is never sent again as a new message: it continues the invocation of its call.
    if answers_calls(row.message):
        return False
    events = await effective_events(session)
    kept = without_failures(find_message_event(row.invocation_id, row.message, events), events)
    own = events_of_invocation(kept, row.invocation_id)
    return reason_not_resumable(get_app(session.app_name).root_agent, own) is not None


def _queue_again(session: Session, invocation_id: str, by: Actor, retry_id: UUID | None) -> Invocation:
    with transaction.atomic():
        # Lock order: session row before its invocations.
        Session.objects.select_for_update().filter(pk=session.pk).first()
        row = _find_failed(session, invocation_id)
        last = _last_attempt(row) | {"retried_at": timezone.now().isoformat()}
        if retry_id:
            last["retry_id"] = str(retry_id)
        row.past_attempts = [*row.past_attempts, last][-MAX_KEPT_ATTEMPTS:]
        row.status = InvocationStatus.QUEUED
        # A retry has all attempts again; `past_attempts` keeps the earlier attempts.
        row.attempts = 0
        row.owner = ""
        row.started_at = row.finished_at = row.cancel_requested_at = None
        row.save(
            update_fields=[
                "status",
                "attempts",
                "past_attempts",
                "owner",
                "started_at",
                "finished_at",
                "cancel_requested_at",
            ]
        )
        SessionAct.objects.record(session.pk, Act(by, ActionKind.RETRY, ("invocation", invocation_id)))
    return row


def _last_attempt(row: Invocation) -> dict[str, Any]:
    """Return the attempt that failed, for `past_attempts`."""
    return {
        "number": row.attempts,
        "worker": row.owner,
        "started_at": row.started_at and row.started_at.isoformat(),
        "ended_at": row.finished_at and row.finished_at.isoformat(),
        "error": f"{row.error_code}: {row.error_message}",
        "detail": row.error_detail,
        "agent": row.agent_version,
    }


def _find_failed(session: Session, invocation_id: str) -> Invocation:
    row = session.invocations.filter(invocation_id=invocation_id).first()
    if row is None:
        raise NotFoundError("There is nothing to try again here.")
    if row.status != InvocationStatus.FAILED:
        raise ConflictError("This did not fail, or is being tried again already.")
    if _has_gone_on(session, row):
        raise ConflictError("The chat has gone on since. Write a new message instead.")
    return row


def _has_gone_on(session: Session, row: Invocation) -> bool:
    """Return True if the invocation was undone, or a newer invocation is in effect."""
    # Newer invocations of an alternative that the person has left do not count: all their events are out of effect. An
    # invocation without events counts, because it is queued or has just begun.
    in_effect = find_rewinds(session.pk).in_effect
    own = session.events.filter(invocation_id=row.invocation_id).order_by("-seq")
    last = own.values_list("seq", flat=True).first()
    if last is not None and not own.filter(in_effect, seq=last).exists():
        return True
    newer = session.invocations.filter(pk__gt=row.pk)
    events = session.events.filter(seq__gt=last or 0, invocation_id__in=newer.values("invocation_id"))
    effective = events.filter(in_effect).values("invocation_id")
    undone = events.exclude(invocation_id__in=effective).values("invocation_id")
    return newer.exclude(invocation_id__in=undone).exists()
