"""Home page of the admin: what waits, fails and runs now, and what the user opened last.

Each part is for users who may see the list that it leads to, and has the rows within their remits. No part reads a log.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.links import row_url, session_url
from sessions_app.admin.framework.permissions import (
    REMIT_OF_SESSION,
    Right,
    has_some_whole_app,
    may,
    sums_within_remits,
    within_remits,
)
from sessions_app.admin.framework.staff_records import own_records
from sessions_app.admin.inbox.answer_request_admin import answerable
from sessions_app.admin.overview.links import OverviewLinks
from sessions_app.admin.records import links_to_rows
from sessions_app.admin.second_person.act_request_admin import answerable_acts, answered_acts
from sessions_app.admin.second_person.consent import act_url
from sessions_app.conf import conf
from sessions_app.history.figures.days import load_days, local_day
from sessions_app.models import (
    AccessKind,
    AnswerRequest,
    DayFigure,
    DayMetric,
    Failure,
    Invocation,
    InvocationStatus,
    JobStatus,
    RequestStage,
    SessionFigures,
    StaffAccess,
    ToolJob,
)
from sessions_app.rendering.audit_values import excerpt, format_cost, format_duration

MAX_COUNTED = 1_000
MAX_SHOWN = 6
MAX_ACCESSES = 200
"""Number of the user's newest accesses among which the last opened sessions are looked for."""


@dataclass(frozen=True)
class Tile:
    """A number with its link.

    Attributes:
        note: text below the number.
    """

    title: str | Promise
    value: str
    url: str = ""
    note: str | Promise = ""


@dataclass(frozen=True)
class Line:
    """A row of a part, with its link.

    Attributes:
        note: text after the words, such as an age.
    """

    url: str
    words: str
    note: str | Promise = ""


@dataclass(frozen=True)
class Part:
    """A part of the home page.

    Attributes:
        calm: sentence without lines; empty for a part that has no lines.
    """

    key: str
    title: str | Promise
    tiles: list[Tile] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    calm: str | Promise = ""


@dataclass(frozen=True)
class Home:
    """Content of the home page: the parts that the user may see, and links to the sessions that the user opened.

    Attributes:
        search_url: page that searches the sessions; empty for users who may not view them.
    """

    parts: list[Part]
    opened: list[SafeString]
    search_url: str


def load_home(request: HttpRequest) -> Home:
    """Load the home page of the user, in a number of queries that does not depend on the rows."""
    links = OverviewLinks(request)
    parts = [
        _waiting(request, links),
        _failed(request, links),
        _broken(request, links),
        _running(request, links),
        _today(request, links),
    ]
    shown = [part for part in parts if part.tiles or part.lines or part.calm]
    return Home(shown, _opened(request), links.list_url("session"))


def _waiting(request: HttpRequest, links: OverviewLinks) -> Part:
    second = _second_person_tiles(request, links)
    answered = _answered_lines(request)
    if not links.list_url("answerrequest"):
        return Part("waits", _("What waits"), second, answered)
    requests = within_remits(request, AnswerRequest.objects.open(), REMIT_OF_SESSION).order_by(
        "asked_at", "id"
    )
    tiles = [
        _age_tile(_("I may answer"), answerable(request, requests), links, "asked_at", mine="1"),
        _age_tile(_("Waiting for an answer"), requests, links, "asked_at"),
        *second,
    ]
    oldest = requests.select_related("session__user").defer("session__state", "session__initial_state")
    now = timezone.now()
    lines = answered
    for row in oldest[:MAX_SHOWN]:
        waited = format_duration(now - row.asked_at)
        lines.append(Line(row_url(row), row.effect, f"{row.session.user.get_username()}, {waited}"))
    return Part("waits", _("What waits"), tiles, lines, _("Nothing waits for an answer."))


def _second_person_tiles(request: HttpRequest, links: OverviewLinks) -> list[Tile]:
    """Return the tile with the acts to which the user may agree, on sites where acts need a second person."""
    if not (conf().second_person_for and links.list_url("actrequest")):
        return []
    stage = RequestStage.WAITING
    return [_age_tile(_("I may agree as second person"), answerable_acts(request), links, "at", stage=stage)]


def _answered_lines(request: HttpRequest) -> list[Line]:
    """Return the user's own requests to a second person that were answered, with links to the pages of the acts."""
    if not conf().second_person_for:
        return []
    lines = []
    now = timezone.now()
    for asked, subject in answered_acts(request):
        name = getattr(subject, "title", "") or subject
        words = _("You asked to %(act)s: %(name)s") % {"act": asked.act, "name": name}
        answer = asked.steps.all()[0]
        sentence = _("%(name)s refused %(age)s ago")
        if answer.agrees:
            sentence = _("%(name)s agreed %(age)s ago: do it now")
        note = sentence % {"name": answer.actor_name, "age": format_duration(now - answer.at)}
        lines.append(Line(act_url(asked.act, subject), words, note))
    return lines


def _failed(request: HttpRequest, links: OverviewLinks) -> Part:
    yesterday = local_day() - timedelta(days=1)
    tiles = [
        *_failed_tile(request, _("Failed invocations"), Invocation, yesterday, links),
        *_failed_tile(request, _("Failed jobs"), ToolJob, yesterday, links),
    ]
    if not links.list_url("failure"):
        return Part("failed", _("What failed since yesterday"), tiles)
    recent = within_remits(request, Failure.objects.filter(day__gte=yesterday), REMIT_OF_SESSION).order_by(
        "-day", "-id"
    )
    causes = Counter(recent.values_list("tool_name", "cause")[: MAX_COUNTED + 1])
    since = yesterday.isoformat()
    tiles.append(Tile(_("Failures"), _number(causes.total()), links.list_url("failure", day__gte=since)))
    lines = []
    for (tool, cause), number in causes.most_common(MAX_SHOWN):
        url = links.list_url("failure", tool=tool, cause=cause, day__gte=since)
        words = f"{tool}: {excerpt(cause)}" if tool else excerpt(cause)
        lines.append(Line(url, words, _number(number)))
    return Part("failed", _("What failed since yesterday"), tiles, lines, _("Nothing has failed."))


def _failed_tile(
    request: HttpRequest, title: Promise, model: Any, first: date, links: OverviewLinks
) -> Iterator[Tile]:
    """Yield the tile with the number of failed rows created since a day, for users who may see their list."""
    start = links.start_of(first)
    query = {"status__exact": "failed", "created_at__gte": str(start)}
    name = model._meta.model_name
    if links.list_url(name):
        # The newest rows, in the order of an index of failed ones, and then those of the days: there may be few or
        # none. Keys of invocations have the order of their times, and keys of jobs have none.
        newest_first = "-id" if model is Invocation else "-created_at"
        rows = within_remits(request, model.objects.filter(status="failed"), REMIT_OF_SESSION).order_by(
            newest_first
        )
        times = rows.values_list("created_at", flat=True)[: MAX_COUNTED + 1]
        yield Tile(title, _number(sum(time >= start for time in times)), links.list_url(name, **query))


def _broken(request: HttpRequest, links: OverviewLinks) -> Part:
    if not (links.list_url("session") and may(request, Right.VIEW_TEXT)):
        return Part("broken", "")
    flawed = within_remits(request, SessionFigures.objects.filter(flaw_seq__isnull=False), REMIT_OF_SESSION)
    found = flawed.select_related("session").only("flaw_seq", "session__title", "session__key").order_by("pk")
    lines = []
    for row in found[:MAX_SHOWN]:
        url = session_url(row.session_id, seq=row.flaw_seq)
        lines.append(Line(url, row.session.title or row.session.key, _("event %s") % row.flaw_seq))
    return Part("broken", _("Broken logs"), [], lines, _("No check has found a changed log."))


def _running(request: HttpRequest, links: OverviewLinks) -> Part:
    tiles = []
    for title, model, status in (
        (_("Running now"), Invocation, InvocationStatus.RUNNING),
        (_("Waiting in the queue"), Invocation, InvocationStatus.QUEUED),
        (_("Running jobs"), ToolJob, JobStatus.RUNNING),
        (_("Queued jobs"), ToolJob, JobStatus.QUEUED),
    ):
        rows: QuerySet[Any] = within_remits(request, model.objects.filter(status=status), REMIT_OF_SESSION)
        if model is ToolJob:
            rows = rows.filter(delivered_at=None)  # the index of open jobs
        if links.list_url(str(model._meta.model_name)):
            tiles.append(
                _age_tile(title, rows.order_by("created_at"), links, "created_at", status__exact=status)
            )
    return Part("runs", _("What runs"), tiles)


def _today(request: HttpRequest, links: OverviewLinks) -> Part:
    url = links.list_url("dayfigure")
    if not (url and has_some_whole_app(request)):
        return Part("today", "")
    today = local_day()
    amounts = load_days(sums_within_remits(request, DayFigure.objects.all()), today, 1)[today]
    costs = reverse("admin:sessions_app_dayfigure_costs")
    tiles = [
        Tile(_("Cost"), format_cost(amounts.total(DayMetric.COST)) or "0", costs),
        Tile(_("Tokens"), f"{round(amounts.total(DayMetric.TOKENS)):,}", url),
    ]
    return Part("today", _("Today"), tiles)


def _opened(request: HttpRequest) -> list[SafeString]:
    """Return links to the sessions that the user opened last and may still open."""
    own = StaffAccess.objects.filter(own_records(request))
    opened = own.filter(kind=AccessKind.OPEN, subject_kind="session").order_by("-id")
    # A session is opened again and again, once for each page that is turned.
    keys = list(dict.fromkeys(opened.values_list("subject_id", flat=True)[:MAX_ACCESSES]))[:MAX_SHOWN]
    links = links_to_rows(request, "session", keys)
    return [links[key] for key in keys if key in links]


def _age_tile(title: Promise, rows: QuerySet[Any], links: OverviewLinks, began: str, **query: str) -> Tile:
    """Return the tile with the number of rows, and the age of the oldest as a note."""
    # Rows instead of a COUNT: the query ends after the limit, and the same rows tell the age of the oldest.
    times: list[datetime] = list(rows.values_list(began, flat=True)[: MAX_COUNTED + 1])
    note = str(_("oldest: %s") % format_duration(timezone.now() - min(times))) if times else ""
    return Tile(title, _number(len(times)), links.list_url(str(rows.model._meta.model_name), **query), note)


def _number(number: int) -> str:
    return f"{number:,}" if number <= MAX_COUNTED else f"{MAX_COUNTED:,}+"
