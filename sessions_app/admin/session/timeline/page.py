"""Data of a session's audit page. The number of queries does not depend on the number of events."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.http import QueryDict

from sessions_app.admin.framework.runs import LARGE_OF_INVOCATION
from sessions_app.admin.framework.stored_events import with_stored
from sessions_app.admin.session.timeline.event_links import EventLinks, load_event_links
from sessions_app.admin.session.timeline.event_rows import build_row_or_none, read_stored_or_none
from sessions_app.admin.session.timeline.facets import Facets, load_facets
from sessions_app.admin.session.timeline.minimap import Minimap, load_minimap
from sessions_app.admin.session.timeline.page_query import LAST_PAGE, VIEWS, SessionPageQuery
from sessions_app.admin.session.timeline.person_view import SeenEvent, load_begun_nodes, load_seen_events
from sessions_app.admin.session.timeline.related_rows import RelatedRows, load_related_rows
from sessions_app.admin.session.timeline.state_snapshot import StateSnapshot, load_state_snapshot
from sessions_app.admin.session.timeline.timeline import (
    InvocationGroup,
    TimelineEntry,
    gather_answers,
    group_by_invocation,
)
from sessions_app.admin.session.timeline.totals import SessionTotals, Totals, load_totals
from sessions_app.history.rewinds import find_rewinds
from sessions_app.models import Event, Invocation, Session
from sessions_app.models.event import EventQuerySet

EVENTS_PER_PAGE = 100


@dataclass(frozen=True)
class SessionPage:
    """Template context of the page.

    Attributes:
        is_dense: True if no `seq` from 1 to the session's last is missing.
        groups: the events of the page by invocation, in the view of events.
        entries: the events one by one, in the raw view.
        seen: the events as the person saw them, in the view of the person.
        highlighted: `seq` of the event in the URL.
        at: `seq` of the event for the shown state; None for the current state.
    """

    session: Session
    totals: Totals
    is_dense: bool
    authors: list[str]
    facets: Facets
    related: RelatedRows
    query: SessionPageQuery
    page: Page[Event]
    highlighted: int | None
    at: int | None
    state: StateSnapshot
    minimap: Minimap
    groups: Sequence[InvocationGroup]
    entries: Sequence[TimelineEntry]
    seen: Sequence[SeenEvent]

    @property
    def filters(self) -> str:
        """The view and the filters as the start of a query string, for links within the view."""
        kept = dict(self.query.filters)
        if self.query.shown_view:
            kept["view"] = self.query.shown_view
        return f"{urlencode(kept)}&" if kept else ""

    @property
    def views(self) -> list[tuple[str, object, bool]]:
        """Query string and name of each view, and True for the shown view."""
        event = {"event": self.highlighted} if self.highlighted else {}
        return [
            (urlencode({"view": view, **event}), name, view == self.query.shown_view) for view, name in VIEWS
        ]

    @property
    def is_live(self) -> bool:
        """True if new events would appear on the page: it shows the end of the log and the current state."""
        return self.at is None and not self.page.has_next()


def load_session_page(session: Session, query: QueryDict) -> SessionPage:
    """Load the data of the page in 32 queries at most.

    The view of the person needs further queries for each workflow that begins on the page: those of its progress.
    """
    parsed = SessionPageQuery.of(query)
    events: EventQuerySet = Event.objects.filter(session=session).order_by("seq")
    at = parsed.event_seq("at", session.last_seq)
    highlighted = parsed.event_seq("event", session.last_seq) or at
    page = _paginate(parsed.apply(events), parsed.requested_page, highlighted)
    totals = load_totals(events)
    facets = load_facets(session)
    groups: Sequence[InvocationGroup] = ()
    entries: Sequence[TimelineEntry] = ()
    seen: Sequence[SeenEvent] = ()
    match parsed.shown_view:
        case "raw":
            entries = _unlinked_entries(page)
        case "person":
            seen = _load_seen(session, page)
        case _:
            groups = _load_groups(session, page, totals)
    return SessionPage(
        session=session,
        totals=totals.of_session,
        is_dense=totals.of_session.events == totals.last_seq == session.last_seq,
        authors=totals.authors,
        facets=facets,
        related=load_related_rows(session, totals, facets),
        query=parsed,
        page=page,
        highlighted=highlighted,
        at=at,
        state=load_state_snapshot(session, at),
        minimap=load_minimap(events, session.last_seq, [event.seq for event in page.object_list]),
        groups=groups,
        entries=entries,
        seen=seen,
    )


def _load_groups(session: Session, page: Page[Event], totals: SessionTotals) -> list[InvocationGroup]:
    loaded = [(event, read_stored_or_none(event)) for event in page.object_list]
    links = load_event_links(session, [(event, stored and stored.body) for event, stored in loaded])
    unlinked = []
    for event, stored in loaded:
        row = build_row_or_none(event, stored, gap=event.gap, links=links)  # type: ignore[attr-defined]
        unlinked.append(TimelineEntry(event, row))
    entries = gather_answers(unlinked)
    named = {entry.event.invocation_id for entry in entries if entry.event.invocation_id}
    invocations = Invocation.objects.filter(session=session, invocation_id__in=named).defer(
        *LARGE_OF_INVOCATION
    )
    return group_by_invocation(entries, {found.invocation_id: totals.view_of(found) for found in invocations})


def _load_seen(session: Session, page: Page[Event]) -> list[SeenEvent]:
    events = list(page.object_list)
    return load_seen_events(session, events, find_rewinds(session.pk), load_begun_nodes(session, events))


def _unlinked_entries(page: Page[Event]) -> list[TimelineEntry]:
    """Return the events one by one, without links to other rows."""
    entries = []
    for event in page.object_list:
        row = build_row_or_none(event, read_stored_or_none(event), gap=None, links=EventLinks())
        entries.append(TimelineEntry(event, row))
    return entries


def _paginate(events: EventQuerySet, requested_page: str, highlighted: int | None) -> Page[Event]:
    """Return the requested page; without a request, the page with the highlighted event, or the first page."""
    paginator = Paginator(_with_gap(with_stored(events, opened=highlighted)), EVENTS_PER_PAGE)
    if requested_page == LAST_PAGE:
        return paginator.get_page(paginator.num_pages)
    if requested_page or highlighted is None:
        return paginator.get_page(requested_page or 1)
    # A count, because filters leave gaps between the events; the page is the quotient, rounded up.
    position = events.filter(seq__lte=highlighted).count()
    return paginator.get_page(max(1, -(-position // EVENTS_PER_PAGE)))


def _with_gap(events: EventQuerySet) -> QuerySet[Event]:
    """Annotate events with the time since the previous event of the session."""
    previous = Event.objects.filter(session=OuterRef("session"), seq=OuterRef("seq") - 1).order_by()
    return events.annotate(gap=F("happened_at") - Subquery(previous.values("happened_at")))
