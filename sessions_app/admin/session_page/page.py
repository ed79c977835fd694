"""Data of a session's audit page. The number of queries does not depend on the number of events."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Max, Min, OuterRef, QuerySet, Subquery, Sum, TextField
from django.db.models.functions import Cast, Left
from django.http import QueryDict

from sessions_app.admin.session_page.event_links import load_event_links
from sessions_app.admin.session_page.event_rows import Row, build_row_or_none, read_stored_or_none
from sessions_app.admin.session_page.page_query import LAST_PAGE, EventFilter
from sessions_app.admin.session_page.state_snapshot import StateSnapshot, load_state_snapshot
from sessions_app.admin.stored_events import with_stored
from sessions_app.models import Event, Feedback, Invocation, ScheduledTask, Session, ToolJob
from sessions_app.models.event import EventQuerySet
from sessions_app.rendering.audit_values import elapsed_time

EVENTS_PER_PAGE = 100
SHOWN_ROWS = 50
RESULT_CHARACTERS = 1_001
"""Characters of a job's result, one more than the page shows."""


@dataclass(frozen=True)
class Totals:
    """Sums over a set of events."""

    events: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    first_seq: int | None = None


@dataclass(frozen=True)
class InvocationView:
    """An invocation and the totals of its events."""

    invocation: Invocation
    totals: Totals

    @property
    def runtime(self) -> str | None:
        """Time from start to finish, or until now."""
        return elapsed_time(self.invocation.started_at, self.invocation.finished_at)


@dataclass(frozen=True)
class TimelineEntry:
    """An event of the page; `row` is None when the event cannot be shown."""

    event: Event
    row: Row | None


@dataclass(frozen=True)
class SessionPage:
    """Template context of the page.

    Attributes:
        is_dense: True when the events are numbered from 1 to the session's last number without a gap.
        highlighted: Number of the event that the URL names.
    """

    session: Session
    totals: Totals
    is_dense: bool
    authors: list[str]
    invocations: list[InvocationView]
    invocation_count: int
    jobs: list[ToolJob]
    job_count: int
    scheduled_tasks: list[ScheduledTask]
    scheduled_task_count: int
    feedback: list[Feedback]
    feedback_count: int
    filter: EventFilter
    page: Page[Event]
    rows: list[TimelineEntry]
    highlighted: int | None
    state: StateSnapshot | None

    @property
    def query(self) -> str:
        """The filters as the start of a query string, for links that preserve them."""
        filters = urlencode(self.filter.query)
        return f"{filters}&" if filters else ""


def load_session_page(session: Session, query: QueryDict) -> SessionPage:
    """Load the page that the query string asks for."""
    events: EventQuerySet = Event.objects.filter(session=session).order_by("seq")
    event_filter = EventFilter.from_query(query)
    at = event_filter.event_number("at", session.last_seq)
    highlighted = event_filter.event_number("event", session.last_seq) or at
    page = _paginate(event_filter.apply(events), event_filter.requested_page, highlighted)
    summary = _SessionTotals.of(events)
    invocations = Invocation.objects.filter(session=session).defer("message", "error_detail").order_by("-id")
    jobs = _without_large_columns(ToolJob.objects.filter(session=session)).order_by("-created_at")
    scheduled = ScheduledTask.objects.filter(session=session).order_by("-id")
    feedback = Feedback.objects.filter(session=session).order_by("-id")
    return SessionPage(
        session=session,
        totals=summary.totals,
        is_dense=summary.totals.events == summary.last_seq == session.last_seq,
        authors=summary.authors,
        invocations=[
            InvocationView(invocation, summary.by_invocation.get(invocation.invocation_id, Totals()))
            for invocation in invocations[:SHOWN_ROWS]
        ],
        invocation_count=invocations.count(),
        jobs=list(jobs[:SHOWN_ROWS]),
        job_count=jobs.count(),
        scheduled_tasks=list(scheduled[:SHOWN_ROWS]),
        scheduled_task_count=scheduled.count(),
        feedback=list(feedback[:SHOWN_ROWS]),
        feedback_count=feedback.count(),
        filter=event_filter,
        page=page,
        rows=_build_rows(session, page),
        highlighted=highlighted,
        state=None if at is None else load_state_snapshot(session, at),
    )


def _without_large_columns(jobs: QuerySet[ToolJob]) -> QuerySet[ToolJob]:
    """Return the jobs with the beginning of their results only."""
    beginning = Left(Cast("result", TextField()), RESULT_CHARACTERS)
    return jobs.annotate(beginning_of_result=beginning).defer("args", "result", "answers", "error_detail")


@dataclass(frozen=True)
class _SessionTotals:
    """Totals of a session and of each invocation, from one query over its events."""

    totals: Totals
    last_seq: int
    authors: list[str]
    by_invocation: dict[str, Totals]

    @classmethod
    def of(cls, events: EventQuerySet) -> _SessionTotals:
        groups = list(
            events.order_by()
            .values("invocation_id", "author")
            .annotate(
                events=Count("*"),
                prompt_tokens=Sum("prompt_tokens", default=0),
                output_tokens=Sum("output_tokens", default=0),
                first_seq=Min("seq"),
                last_seq=Max("seq"),
            )
        )
        by_invocation: dict[str, Totals] = {}
        totals = Totals()
        for group in groups:
            part = Totals(group["events"], group["prompt_tokens"], group["output_tokens"], group["first_seq"])
            name = group["invocation_id"] or ""
            by_invocation[name] = _add(by_invocation.get(name, Totals()), part)
            totals = _add(totals, part)
        return cls(
            totals=totals,
            last_seq=max((group["last_seq"] for group in groups), default=0),
            authors=sorted({group["author"] for group in groups if group["author"]}),
            by_invocation=by_invocation,
        )


def _add(left: Totals, right: Totals) -> Totals:
    return Totals(
        left.events + right.events,
        left.prompt_tokens + right.prompt_tokens,
        left.output_tokens + right.output_tokens,
        min((seq for seq in (left.first_seq, right.first_seq) if seq is not None), default=None),
    )


def _paginate(events: EventQuerySet, requested_page: str, highlighted: int | None) -> Page[Event]:
    """Return the requested page; without one, the page with the highlighted event, or the first page."""
    paginator = Paginator(_with_gap(with_stored(events, opened=highlighted)), EVENTS_PER_PAGE)
    if requested_page == LAST_PAGE:
        return paginator.get_page(paginator.num_pages)
    if requested_page or highlighted is None:
        return paginator.get_page(requested_page or 1)
    position = events.filter(seq__lte=highlighted).count()
    return paginator.get_page(max(1, -(-position // EVENTS_PER_PAGE)))


def _with_gap(events: EventQuerySet) -> QuerySet[Event]:
    """Annotate events with the time since the previous event of the session."""
    previous = Event.objects.filter(session=OuterRef("session"), seq=OuterRef("seq") - 1).order_by()
    return events.annotate(gap=F("happened_at") - Subquery(previous.values("happened_at")))


def _build_rows(session: Session, page: Page[Event]) -> list[TimelineEntry]:
    loaded = [(event, read_stored_or_none(event)) for event in page.object_list]
    links = load_event_links(session, {event.seq: stored.body for event, stored in loaded if stored})
    return [
        TimelineEntry(event, build_row_or_none(event, stored, gap=event.gap, links=links))  # type: ignore[attr-defined]
        for event, stored in loaded
    ]
