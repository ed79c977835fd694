"""A stretch of a session's log as the chat page shows it: articles, and what became of the invocations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.safestring import SafeString

from runtime.events import Event as RuntimeEvent
from sessions_app.models import Event, Invocation, InvocationStatus, Session, ToolJob
from sessions_app.rendering import render_event
from sessions_app.wake_up import is_wake_up

STRETCH_EVENTS = 50
OPEN = (InvocationStatus.QUEUED, InvocationStatus.RUNNING, InvocationStatus.WAITING)


@dataclass(frozen=True)
class Stretch:
    """Neighbouring events, oldest first.

    Attributes:
        invocations: as the websocket's `invocation` frames tell them, with `text` and `at` (seconds since the epoch)
            for those that a person's message began which is not among the events.
    """

    articles: list[SafeString]
    first_seq: int
    last_seq: int
    invocations: list[dict[str, Any]]

    @property
    def has_more(self) -> bool:
        """Whether there is something older."""
        return self.first_seq > 1


async def newest_stretch(session: Session) -> Stretch:
    """The end of the log, with the invocations that have no event yet or never got one."""
    events = await _last_events(session, before=None)
    wanted = Q(invocation_id__in=_invocation_ids(events)) | Q(status__in=OPEN)
    if events:
        wanted |= Q(created_at__gte=events[0].happened_at)
    elif not session.last_seq:
        wanted = Q()
    return await _stretch(session, events, wanted)


async def older_stretch(session: Session, before: int) -> Stretch:
    """What comes before the event number `before`."""
    events = await _last_events(session, before)
    return await _stretch(session, events, Q(invocation_id__in=_invocation_ids(events)))


async def _last_events(session: Session, before: int | None) -> list[Event]:
    events = session.events.order_by("-seq")
    if before is not None:
        events = events.filter(seq__lt=before)
    wanted = events.only("seq", "body", "invocation_id", "happened_at", "session_id")
    return [event async for event in wanted[:STRETCH_EVENTS]][::-1]


async def _stretch(session: Session, events: list[Event], wanted: Q) -> Stretch:
    jobs = await _jobs(session, events)
    known = _invocation_ids(events)
    rows = session.invocations.filter(wanted).order_by("id")
    return Stretch(
        articles=[
            render_event(session.id, event.seq, RuntimeEvent.model_validate(event.body), jobs)
            for event in events
        ],
        first_seq=events[0].seq if events else 0,
        last_seq=events[-1].seq if events else 0,
        invocations=[_told(row, is_known=row.invocation_id in known) async for row in rows],
    )


async def _jobs(session: Session, events: list[Event]) -> Mapping[str, ToolJob]:
    call_ids = [call_id for event in events for call_id in event.body.get("longRunningToolIds", ())]
    if not call_ids:
        return {}
    return {job.call_id: job async for job in session.jobs.filter(call_id__in=call_ids)}


def _invocation_ids(events: list[Event]) -> set[str]:
    return {event.invocation_id for event in events if event.invocation_id}


def _told(row: Invocation, is_known: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"id": row.invocation_id, "client_id": row.client_id, "status": row.status}
    if row.error_message:
        told["error"] = row.error_message
    if not is_known and not is_wake_up(row.client_id):
        parts = row.message.get("parts") or []
        told["text"] = "".join(part.get("text") or "" for part in parts)
        told["at"] = row.created_at.timestamp()
    return told
