"""Log page: a part of a session's log for the chat page, with the status of its invocations.

The chat page loads the newest events, and older pages as the reader scrolls up. A page has `PAGE_EVENTS` effective
events, however many rewound events lie between: rewound events are left out by the query, and so are the rewinds
themselves (contract R3).

Invocations come with the events because some have none yet: a queued message, or a message whose invocation failed
before its event was committed. The newest page has the text of such messages, or a reload would lose sight of them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils.safestring import SafeString, mark_safe

import runtime.events
from runtime.artifacts.referenced_artifacts import ArtifactReference
from sessions_app.base.codec import event_to_show
from sessions_app.history.alternatives import Fork, find_forks
from sessions_app.history.event_marks import is_wake_up, writer_of
from sessions_app.history.rewinds import Rewinds, find_rewinds, without_rewound
from sessions_app.models import Event, Invocation, InvocationStatus, Session, ToolJob
from sessions_app.process.threads import fetch_rows, in_thread
from sessions_app.rendering.event_html import event_html
from sessions_app.rendering.sentences import in_language
from sessions_app.rendering.session_view import SessionView
from sessions_app.sessions.feedback import feedback_of
from sessions_app.sessions.ownership import User

PAGE_EVENTS = 50
"""Events of a page."""
CHUNK_EVENTS = 8
"""Events that `chat/chunks.js` removes from the document together when they are far out of view."""


@dataclass(frozen=True)
class LogPage:
    """Consecutive events, oldest first.

    Attributes:
        has_more: True if there are older events.
        invocations: fields of `invocation` frames. If the message has no event on the page, also its `text` and its
            time `at` (seconds since the epoch).
        feedback: the owner's opinions of these events, by `seq`.
        forks: forks of the whole log. Only the newest page has them.
        was_rewound: True if the log has any rewind. Always False on older pages.
    """

    articles: list[SafeString]
    first_seq: int
    has_more: bool
    invocations: list[dict[str, Any]]
    feedback: dict[int, dict[str, str]]
    forks: list[Fork] = field(default_factory=list)
    was_rewound: bool = False

    @property
    def feedback_json(self) -> str:
        return json.dumps(self.feedback)

    @property
    def chunks(self) -> list[list[SafeString]]:
        """The articles in groups of `CHUNK_EVENTS`."""
        return [
            self.articles[start : start + CHUNK_EVENTS]
            for start in range(0, len(self.articles), CHUNK_EVENTS)
        ]


EMPTY_PAGE = LogPage([], 0, False, [], {})


async def newest_page(session: Session, reader: User) -> LogPage:
    """Return the newest events up to `session.last_seq`, and the open and recent invocations without events."""
    # Up to `last_seq`, so events, rewinds and invocations agree: the feed sends whatever is committed from now on.
    rewinds = await in_thread(find_rewinds, session.pk, session.last_seq)
    events = await _last_events(session, session.last_seq, rewinds)
    # Messages without events are placed by time: only those of the page's time belong on the page.
    oldest = events[PAGE_EVENTS - 1].happened_at if len(events) > PAGE_EVENTS else None
    since = oldest or session.created_at
    recent = Q(created_at__gte=since) & ~_is_rewound(session, rewinds)
    page = await _log_page(session, reader, events, Q(status__in=InvocationStatus.open()) | recent)
    found = await in_thread(find_forks, session, rewinds)
    return replace(page, forks=found, was_rewound=bool(rewinds.times))


async def older_page(session: Session, reader: User, before: int) -> LogPage:
    """Return the page with the events before the `seq` `before`."""
    rewinds = await in_thread(find_rewinds, session.pk)
    events = await _last_events(session, before - 1, rewinds)
    return await _log_page(session, reader, events, Q(pk__in=()))


async def _last_events(session: Session, until: int, rewinds: Rewinds) -> list[Event]:
    """Return the events of a page, newest first, and one more event if the log has older ones."""
    events = without_rewound(session.events.filter(seq__lte=until), rewinds).order_by("-seq")
    wanted = events.only("seq", "body", "invocation_id", "happened_at", "session_id")
    return await fetch_rows(wanted[: PAGE_EVENTS + 1])


def _is_rewound(session: Session, rewinds: Rewinds) -> Q:
    """Return a filter for rewound invocations, with and without events."""
    # An invocation without events has no `seq`: it is rewound if it was made after the first rewound one, or after the
    # rewind that begins the range, and before the rewind that ends the range.
    rewound: list[Q] = []
    for part in rewinds.ranges:
        if part.at is None:
            continue
        first_event = session.events.filter(seq=part.first).values("invocation_id")
        first = Invocation.objects.filter(invocation_id__in=first_event, pk__lte=OuterRef("pk"))
        began = Q(Exists(first))
        if part.since is not None:
            began |= Q(created_at__gte=part.since)
        rewound.append(began & Q(created_at__lt=part.at))
    return Q(*rewound, _connector=Q.OR) if rewound else Q(pk__in=())


async def _log_page(session: Session, reader: User, newest_first: list[Event], others: Q) -> LogPage:
    """Return the page of the events, with their invocations and the invocations that match `others`.

    Args:
        newest_first: the events of the page, and one older event if there are more.
    """
    view = SessionView.of(session, reader)
    events = newest_first[:PAGE_EVENTS][::-1]
    readable = [event_to_show(event.body) for event in events]
    jobs = await _jobs(session, readable)
    shown = {writer_of(event.invocation_id, event.custom_metadata) for event in readable}
    # In a thread, because the query of a session with very many alternatives takes long to build.
    found = await in_thread(session.invocations.filter, Q(invocation_id__in=shown) | others)
    rows = await fetch_rows(found.order_by("id"))
    return LogPage(
        articles=[
            await _article(view, row, event, jobs) for row, event in zip(events, readable, strict=True)
        ],
        first_seq=events[0].seq if events else 0,
        has_more=len(newest_first) > len(events),
        invocations=[_fields(row, has_events=row.invocation_id in shown) for row in rows],
        feedback=await in_thread(feedback_of, session, [event.seq for event in events]),
    )


async def _article(
    view: SessionView, row: Event, event: runtime.events.Event, jobs: Mapping[str, ToolJob]
) -> SafeString:
    body = json.dumps(row.body, ensure_ascii=False)  # `event_html` estimates from it how long rendering takes
    html = await event_html(view, row.seq, event, body, jobs)
    return mark_safe(html)  # noqa: S308 - made by a template


async def _jobs(session: Session, events: Iterable[runtime.events.Event]) -> Mapping[str, ToolJob]:
    call_ids: list[str] = []
    for event in events:
        call_ids += event.long_running_tool_ids or ()
    if not call_ids:
        return {}
    return {job.call_id: job for job in await fetch_rows(session.jobs.filter(call_id__in=call_ids))}


def _fields(row: Invocation, has_events: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": row.invocation_id, "client_id": row.client_id, "status": row.status}
    if row.error_message:
        fields["error"] = in_language(row.error_message)
    if not has_events and not is_wake_up(row.client_id):
        fields["text"] = _words(row.message)
        fields["at"] = row.created_at.timestamp()
    return fields


def _words(message: Mapping[str, Any]) -> str:
    """Return the text of a stored message, and the names of its files."""
    parts = message.get("parts") or []
    text = ""
    names = []
    for part in parts:
        text += part.get("text") or ""
        uri = (part.get("fileData") or {}).get("fileUri") or ""
        reference = ArtifactReference.of_uri(uri, "")
        if reference:
            names.append(reference.filename)
    return "\n".join(filter(None, (text, ", ".join(names))))
