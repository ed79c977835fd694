"""What the page of a session shows. The number of queries does not depend on the number of events."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Func, Max, Min, OuterRef, QuerySet, Subquery, Sum, TextField
from django.http import QueryDict

from sessions_app.admin.event_filter import LAST_PAGE, EventFilter
from sessions_app.admin.formatting import runtime
from sessions_app.admin.related import surroundings
from sessions_app.admin.time_travel import StateAt, state_at
from sessions_app.admin.timeline import Row, build_row
from sessions_app.models import Event, Invocation, ScheduledTask, Session, ToolJob
from sessions_app.models.event import EventQuerySet

EVENTS_PER_PAGE = 100
NEWEST_SHOWN = 50


@dataclass(frozen=True)
class Totals:
    """Sums over some events of a session."""

    events: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    first_seq: int | None = None


@dataclass(frozen=True)
class InvocationView:
    """An invocation and what its events add up to."""

    invocation: Invocation
    totals: Totals

    @property
    def runtime(self) -> str | None:
        """How long it took, or has taken so far."""
        return runtime(self.invocation.started_at, self.invocation.finished_at)


@dataclass(frozen=True)
class SessionPage:
    """All that the page shows.

    Attributes:
        is_dense: whether the events are numbered 1, 2, 3 … up to the session's last number.
        highlighted: the event that the address asks for.
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
    filter: EventFilter
    page: Page[Event]
    rows: list[Row]
    highlighted: int | None
    state_at: StateAt | None

    @property
    def query(self) -> str:
        """The filters as a beginning of a query string, for links that keep them."""
        filters = urlencode(self.filter.query)
        return f"{filters}&" if filters else ""


def session_page(session: Session, query: QueryDict) -> SessionPage:
    """Read what a page needs."""
    events: EventQuerySet = Event.objects.filter(session=session).order_by("seq")
    chosen = EventFilter.of(query)
    at = chosen.number("at", session.last_seq)
    highlighted = chosen.number("event", session.last_seq) or at
    page = _page(chosen.applied_to(events), chosen.page_asked_for, highlighted)
    digest = _Digest.of(events)
    invocations = Invocation.objects.filter(session=session).order_by("-id")
    jobs = ToolJob.objects.filter(session=session).order_by("-created_at")
    scheduled = ScheduledTask.objects.filter(session=session).order_by("-id")
    return SessionPage(
        session=session,
        totals=digest.totals,
        is_dense=digest.totals.events == digest.last_seq == session.last_seq,
        authors=digest.authors,
        invocations=[
            InvocationView(invocation, digest.by_invocation.get(invocation.invocation_id, Totals()))
            for invocation in invocations.select_related("cancelled_by")[:NEWEST_SHOWN]
        ],
        invocation_count=invocations.count(),
        jobs=list(jobs.select_related("cancelled_by")[:NEWEST_SHOWN]),
        job_count=jobs.count(),
        scheduled_tasks=list(scheduled.select_related("cancelled_by")[:NEWEST_SHOWN]),
        scheduled_task_count=scheduled.count(),
        filter=chosen,
        page=page,
        rows=_rows(session, page),
        highlighted=highlighted,
        state_at=None if at is None else state_at(session, at),
    )


@dataclass(frozen=True)
class _Digest:
    """What one pass over all events of a session tells."""

    totals: Totals
    last_seq: int
    authors: list[str]
    by_invocation: dict[str, Totals]

    @classmethod
    def of(cls, events: EventQuerySet) -> _Digest:
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
            by_invocation[name] = _sum(by_invocation.get(name, Totals()), part)
            totals = _sum(totals, part)
        return cls(
            totals=totals,
            last_seq=max((group["last_seq"] for group in groups), default=0),
            authors=sorted({group["author"] for group in groups if group["author"]}),
            by_invocation=by_invocation,
        )


def _sum(one: Totals, other: Totals) -> Totals:
    return Totals(
        one.events + other.events,
        one.prompt_tokens + other.prompt_tokens,
        one.output_tokens + other.output_tokens,
        min((seq for seq in (one.first_seq, other.first_seq) if seq is not None), default=None),
    )


def _page(events: EventQuerySet, asked_for: str, around: int | None) -> Page[Event]:
    """The page that was asked for by number, else the one that holds event `around`, else the first."""
    paginator = Paginator(_with_gap_and_raw(events), EVENTS_PER_PAGE)
    if asked_for == LAST_PAGE:
        return paginator.get_page(paginator.num_pages)
    if asked_for or around is None:
        return paginator.get_page(asked_for or 1)
    position = events.filter(seq__lte=around).count()
    return paginator.get_page(max(1, -(-position // EVENTS_PER_PAGE)))


def _with_gap_and_raw(events: EventQuerySet) -> QuerySet[Event]:
    """With the time since the event before (filtered out or not), and the JSON as the database keeps it."""
    before = Event.objects.filter(session=OuterRef("session"), seq=OuterRef("seq") - 1).order_by()
    return events.annotate(
        gap=F("happened_at") - Subquery(before.values("happened_at")),
        raw=Func(F("body"), function="jsonb_pretty", output_field=TextField()),
    )


def _rows(session: Session, page: Page[Event]) -> list[Row]:
    events = list(page.object_list)
    around = surroundings(session, events)
    return [build_row(event, raw=event.raw, gap=event.gap, around=around) for event in events]  # type: ignore[attr-defined]
