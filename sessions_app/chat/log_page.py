"""A log_page of a session's log as the chat page shows it: articles, and what became of the invocations.

What was rewound (spec R3) is left out, the rewinds themselves, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils.safestring import SafeString

from sessions_app.codec import event_to_show
from sessions_app.db.threads import in_thread
from sessions_app.history.event_marks import is_wake_up
from sessions_app.history.rewinds import RewoundRange, rewound_ranges
from sessions_app.models import Event, Invocation, InvocationStatus, Session, ToolJob
from sessions_app.rendering import render_event

PAGE_EVENTS = 50
OPEN = (InvocationStatus.QUEUED, InvocationStatus.RUNNING, InvocationStatus.WAITING)


@dataclass(frozen=True)
class LogPage:
    """Neighbouring events, oldest first.

    Attributes:
        has_more: whether there is something older.
        invocations: as the websocket's `invocation` frames tell them, with `text` and `at` (seconds since the epoch)
            for those that a person's message began which is not among the events.
    """

    articles: list[SafeString]
    first_seq: int
    has_more: bool
    invocations: list[dict[str, Any]]


async def newest_page(session: Session) -> LogPage:
    """The end of the log as far as `session` knows it, with the invocations that have no event yet or never got one."""
    rewound = await in_thread(rewound_ranges, session.pk, session.last_seq)
    events = await _last_events(session, session.last_seq, rewound)
    since = events[PAGE_EVENTS - 1].happened_at if len(events) > PAGE_EVENTS else session.created_at
    later = Q(created_at__gte=since) & ~_begun_in(rewound)
    return await _log_page(session, events, Q(status__in=OPEN) | later)


async def older_page(session: Session, before: int) -> LogPage:
    """What comes before the event number `before`."""
    rewound = await in_thread(rewound_ranges, session.pk)
    return await _log_page(session, await _last_events(session, before - 1, rewound), Q(pk__in=()))


async def _last_events(session: Session, until: int, rewound: Sequence[RewoundRange]) -> list[Event]:
    """Those that a log_page shows, newest first, and one more if there is one."""
    events = session.events.filter(seq__lte=until).order_by("-seq")
    for part in rewound:
        events = events.exclude(seq__range=(part.first, part.last))
    wanted = events.only("seq", "body", "invocation_id", "happened_at", "session_id")
    return [event async for event in wanted[: PAGE_EVENTS + 1]]


def _begun_in(rewound: Sequence[RewoundRange]) -> Q:
    """The invocations that were undone, also those that left no event."""
    begun = Q(pk__in=())
    for part in rewound:
        first = Invocation.objects.filter(invocation_id=part.invocation_id, pk__lte=OuterRef("pk"))
        begun |= Q(Exists(first), created_at__lt=part.at)
    return begun


async def _log_page(session: Session, found: list[Event], others: Q) -> LogPage:
    """A log_page of the events that were found, their invocations and others."""
    events = found[:PAGE_EVENTS][::-1]
    jobs = await _jobs(session, events)
    known = _invocation_ids(events)
    rows = session.invocations.filter(Q(invocation_id__in=known) | others).order_by("id")
    return LogPage(
        articles=[render_event(session.id, event.seq, event_to_show(event.body), jobs) for event in events],
        first_seq=events[0].seq if events else 0,
        has_more=len(found) > len(events),
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
