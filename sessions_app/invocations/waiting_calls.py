"""Answer requests: the table of waiting calls and questions of jobs, derived from the log.

The inbox needs waiting calls of all sessions, which the logs could only give after a scan. The log stays the truth: the
table is written after the events, and a repair corrects it after a crash.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils import translation

from runtime.agents.tree import answered_by_of_tool
from runtime.events.answer_rules import SITE
from runtime.events.calls import (
    CHOICE_TOOL,
    REMOTE_QUESTIONS,
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    REQUEST_INPUT,
    MadeCall,
    MadeCalls,
)
from runtime.events.tool_confirmation import call_to_confirm, confirmer_of, own_hint
from sessions_app.agent_apps import registry
from sessions_app.base import client_ids
from sessions_app.base.codec import json_object
from sessions_app.errors import StaleLeaseError
from sessions_app.history.effective_events import effective_events
from sessions_app.history.event_marks import writer_of
from sessions_app.models import AnswerRequest, Invocation, InvocationStatus, RequestKind, Session, ToolJob
from sessions_app.models.answer_request import CALL_ID_LENGTH, EFFECT_LENGTH, NAME_LENGTH
from sessions_app.process import threads
from sessions_app.process.threads import in_thread
from sessions_app.rendering.call_words import describe_call, find_tool
from sessions_app.rendering.outline import as_words, one_line
from sessions_app.secrets.masking import mask, masking

logger = logging.getLogger(__name__)
KEPT = timedelta(days=1)
KINDS = {
    REQUEST_CONFIRMATION: RequestKind.CONFIRMATION,
    REQUEST_CREDENTIAL: RequestKind.CREDENTIAL,
    CHOICE_TOOL: RequestKind.CHOICE,
}


def waiting_invocations(pending: Iterable[MadeCall]) -> set[str]:
    """Return the ids of the invocations with the `pending` calls.

    A workflow that asks again after an answer makes the call within its first invocation: then this invocation waits,
    and the invocation of the answer, too.
    """
    found: set[str] = set()
    for made in pending:
        event = made.event
        found |= {event.invocation_id, writer_of(event.invocation_id, event.custom_metadata)}
    return found


async def sync_answer_requests(
    session_id: UUID, app_name: str, pending: Iterable[MadeCall], lease_token: int | None = None
) -> None:
    """Store a request for each pending call in the session's effective events, and drop all others. Idempotent.

    Args:
        lease_token: token of the session's lease, under which the caller has read the pending calls.

    Raises:
        StaleLeaseError: the lease was lost.
    """
    by_id = {made.call.id or "": made for made in pending}
    requests = [
        await _build_request(session_id, app_name, made)
        for call_id, made in by_id.items()
        if len(call_id) <= CALL_ID_LENGTH  # A call with a longer id cannot be answered.
    ]
    await in_thread(_store, session_id, requests, lease_token)


def repair_requests() -> None:
    """Drop old requests without a waiting call, and store missing requests of waiting sessions. Idempotent."""
    # A process that has died may leave old requests. A version of the site without this table stored none.
    old = AnswerRequest.objects.filter(asked_at__lt=Now() - KEPT)
    old.exclude(pk__in=AnswerRequest.objects.open().values("pk")).delete()
    has_request = Exists(AnswerRequest.objects.filter(session=OuterRef("session")))
    waiting = Invocation.objects.filter(~has_request, status=InvocationStatus.WAITING)
    for session in Session.objects.filter(pk__in=waiting.values("session"), deleted_at=None):
        threads.run(_store_requests_of(session))


async def _store_requests_of(session: Session) -> None:
    try:
        pending = MadeCalls(await effective_events(session)).pending()
        await sync_answer_requests(session.pk, session.app_name, pending)
    except Exception:  # One session must not keep the others from being repaired.
        logger.exception(
            "The requests of session %s were not stored", session.pk, extra={"session_id": str(session.pk)}
        )


async def answered_by_of(app_name: str, made: MadeCall) -> str:
    """Return the party that may answer a call: see `AnswerRequest`."""
    # Recorded in the request itself: a change of the agent's code does not change who confirms a waiting call.
    if made.call.name == REQUEST_CONFIRMATION:
        return confirmer_of(made.call.args or {})
    root = registry.get_app(app_name).root_agent
    return await answered_by_of_tool(root, made.event.author, made.call.name or "")


async def answered_by_or_site(app_name: str, made: MadeCall) -> str:
    """Return the party that may answer a call; the site when the party cannot be found, so the call waits."""
    try:
        return await answered_by_of(app_name, made)
    except Exception:  # an agents.py or a toolset may raise anything
        logger.exception("It is not known who may answer a call of %r", made.call.name)
        return SITE


@transaction.atomic
def _store(session_id: UUID, requests: Sequence[AnswerRequest], lease_token: int | None) -> None:
    """Replace the session's requests. Leave out calls with a queued answer, and keep the requests of jobs."""
    if lease_token is not None:
        # The lock keeps the lease until the requests are stored.
        held = Session.objects.select_for_update(no_key=True).filter(pk=session_id, lease_token=lease_token)
        if held.values_list("pk").first() is None:
            raise StaleLeaseError(f"Another process has taken over session {session_id}.")
    # A queued answer is not in the log yet: its call still waits there, but nobody should be asked again.
    answers = [client_ids.of_answer(row.call_id) for row in requests]
    queued = Invocation.objects.filter(session=session_id, client_id__in=answers)
    answered = set(queued.values_list("client_id", flat=True))
    requests = [row for row in requests if client_ids.of_answer(row.call_id) not in answered]
    jobs = ToolJob.objects.filter(session=session_id, call_id__in=[row.call_id for row in requests])
    of_jobs = set(jobs.values_list("call_id", flat=True))
    stored = AnswerRequest.objects.filter(session=session_id)
    # The calls of waiting jobs are among `requests`, so their rows stay; `record_question` stores them.
    stored.exclude(call_id__in=[row.call_id for row in requests]).delete()
    new = [row for row in requests if row.call_id not in of_jobs]
    AnswerRequest.objects.bulk_create(new, ignore_conflicts=True)


async def _build_request(session_id: UUID, app_name: str, made: MadeCall) -> AnswerRequest:
    call = made.call
    args = call.args or {}
    kind = KINDS.get(call.name or "", RequestKind.CALL)
    original = call_to_confirm(args) if kind == RequestKind.CONFIRMATION else {}
    tool_name = str(original.get("name") or call.name or "")
    shown_args = json_object(original, "args") if original else args
    return AnswerRequest(
        session_id=session_id,
        invocation_id=made.event.invocation_id[:64],
        call_id=call.id or "",
        kind=kind,
        agent_name=made.event.author[:NAME_LENGTH],
        tool_name=tool_name[:NAME_LENGTH],
        effect=_describe_effect(app_name, made, kind, tool_name, shown_args),
        answered_by=(await answered_by_or_site(app_name, made))[:200],
        asked_at=datetime.fromtimestamp(made.event.timestamp, UTC),
    )


def _describe_effect(
    app_name: str, made: MadeCall, kind: RequestKind, tool_name: str, args: Mapping[str, Any]
) -> str:
    """Describe the effect of a yes to the call, in at most `EFFECT_LENGTH` characters, with secrets masked."""
    if kind == RequestKind.CREDENTIAL:
        return f"Give a credential to {as_words(made.event.author)}"[:EFFECT_LENGTH]
    with masking():
        args = mask(args)
        hint = one_line(own_hint(mask(made.call.args or {})))
    if tool_name == REQUEST_INPUT:
        return one_line(args.get("message") or "An answer is needed.")[:EFFECT_LENGTH]
    if tool_name in REMOTE_QUESTIONS:
        return one_line(next(iter(args.values()), ""))[:EFFECT_LENGTH]
    options = args.get("options")
    if kind == RequestKind.CHOICE and isinstance(options, list):
        return one_line("Choose one: " + ", ".join(one_line(option) for option in options[:50]))
    with translation.override("en"):
        words = describe_call(find_tool(app_name, made.event.author, tool_name), tool_name, args)
    brief = ", ".join(one_line(args[name])[:60] for name in sorted(args)[:8])
    effect = f"{words.plain}: {brief}" if brief and not words.names_arguments else words.plain
    if hint:
        # The words may be those of another server, so what a yes does comes first.
        effect = f"{effect[: EFFECT_LENGTH // 2]}. {hint}"
    return effect[:EFFECT_LENGTH]
