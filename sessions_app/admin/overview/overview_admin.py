"""The overview: tiles, tables and plots, from figures of days and sessions; and the view of the home page."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import F, FloatField, QuerySet, Value
from django.db.models.functions import Greatest
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from sessions_app.admin.framework.base import ReadOnlyAdmin
from sessions_app.admin.framework.figure_table import Cell, FigureTable, isolated
from sessions_app.admin.framework.links import session_url
from sessions_app.admin.framework.permissions import (
    REMIT_OF_SESSION,
    REMIT_OF_USER,
    Right,
    has_some_whole_app,
    may,
    remits_of,
    sums_within_remits,
    within_remits,
)
from sessions_app.admin.overview.costs import DAYS, load_costs
from sessions_app.admin.overview.home import Tile, load_home
from sessions_app.admin.overview.links import OverviewLinks
from sessions_app.conf import conf
from sessions_app.history.figures.days import DayAmounts, load_days, local_day, percentile
from sessions_app.models import DayFigure, DayMetric, InvocationStatus, PersonUsage, SessionFigures
from sessions_app.rendering.audit_values import format_cost, format_duration
from sessions_app.rendering.plots import Draw, Series, lines, stacked_bars

MAX_ROWS = 15
MAX_SESSIONS = 10
MAX_SERIES = 5
SHOWN_OUTCOMES = (*InvocationStatus.ended(), InvocationStatus.WAITING)


@admin.register(DayFigure)
class OverviewAdmin(ReadOnlyAdmin):
    """Today at a glance, and the last days, in place of a list of the figures."""

    class Media:
        css = {"all": ["sessions_app/admin/figures.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return sums_within_remits(request, super().get_queryset(request))

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.require_reading(request)
        return self.show(
            request,
            "admin/sessions_app/overview.html",
            _("Overview"),
            number_of_days=DAYS,
            overview=load_overview(request),
        )

    def costs_view(self, request: HttpRequest) -> HttpResponse:
        """Return the apps and people that cost most."""
        self.require_reading(request)
        return self.show(
            request,
            "admin/sessions_app/costs.html",
            _("Cost by app and person"),
            tables=load_costs(request),
            number_of_days=DAYS,
        )

    def get_urls(self) -> list[URLPattern]:
        return [self.view_path("costs/", self.costs_view, "costs"), *super().get_urls()]

    def home_view(self, request: HttpRequest) -> HttpResponse:
        """Return the home page of the admin, with the parts that the user may see."""
        title = self.admin_site.index_title
        groups = self.admin_site.get_app_list(request)
        return self.show(
            request, "admin/sessions_app/home.html", title, home=load_home(request), app_list=groups
        )


@dataclass(frozen=True)
class Overview:
    """Numbers of today and of the last days.

    Attributes:
        shows_days: False if no app with all its people is within the remits: then the user may see no figure of a day.
    """

    tiles: list[Tile]
    outcomes: list[Tile]
    tools: FigureTable
    models: FigureTable
    sessions: FigureTable
    people: FigureTable
    plots: list[tuple[str, SafeString]]
    shows_days: bool
    days: FigureTable


def load_overview(request: HttpRequest) -> Overview:
    """Load the figures within the remits of the user."""
    figures = sums_within_remits(request, DayFigure.objects.all())
    last = local_day()
    links = OverviewLinks(request)
    days = load_days(figures, last, DAYS)
    today = days[last]
    all_days = DayAmounts.sum(days.values())
    counts_people = not remits_of(request)  # The number of people is a sum over all apps.
    return Overview(
        tiles=_tiles_of(today, last, links, counts_people=counts_people),
        outcomes=_outcomes_of(today, last, links),
        tools=_tools(today, all_days, last, links),
        models=_models(today, all_days, last, links),
        sessions=load_costly_sessions(request),
        people=_people(request, last, links),
        plots=_plots(days),
        shows_days=has_some_whole_app(request),
        days=_days(days, links, counts_people=counts_people),
    )


def _tiles_of(today: DayAmounts, day: date, links: OverviewLinks, *, counts_people: bool) -> list[Tile]:
    url = links.sessions_of(day, day)
    tiles = [
        Tile(_("Active people"), _number(today.total(DayMetric.PEOPLE)), url),
        Tile(
            _("Time to first word, median"), _first_word(today, 0.5), links.invocations_of(day),
            _("95%%: %s") % _first_word(today, 0.95),
        ),
        Tile(
            _("Failed calls of tools"), _number(_tool_failures(today)), links.failures_of(day, day),
            _("of %s calls") % _number(today.total(DayMetric.CALLS)),
        ),
        Tile(_("Tokens"), _number(today.total(DayMetric.TOKENS)), url),
        Tile(_("Cost"), format_cost(today.total(DayMetric.COST)) or "0", url, _price_note(today)),
    ]  # fmt: skip
    return tiles if counts_people else tiles[1:]


def _outcomes_of(today: DayAmounts, day: date, links: OverviewLinks) -> list[Tile]:
    counted = today.by_name(DayMetric.INVOCATIONS)
    return [
        Tile(status.label, _number(counted[status]), links.invocations_of(day, status__exact=status))
        for status in SHOWN_OUTCOMES
    ]


def _tools(today: DayAmounts, all_days: DayAmounts, day: date, links: OverviewLinks) -> FigureTable:
    """Return the tools with most failures: by today's failures, then by all."""
    now = today.by_name(DayMetric.FAILURES)
    before = all_days.by_name(DayMetric.FAILURES)
    calls = today.by_name(DayMetric.CALLS)
    all_calls = all_days.by_name(DayMetric.CALLS)
    # Errors without a tool have no name; they are in the list of failures.
    names = sorted(filter(None, before), key=lambda name: (-now[name], -before[name], name))
    first = day - timedelta(days=DAYS - 1)
    rows = []
    for name in names[:MAX_ROWS]:
        row = [
            Cell(name),
            Cell(_number(now[name]), links.failures_of(day, day, name)),
            Cell(_number(calls[name])),
            Cell(_number(before[name]), links.failures_of(first, day, name)),
            Cell(_number(all_calls[name])),
        ]
        rows.append(row)
    headings = (
        _("Tool"),
        _("Failures today"),
        _("Calls today"),
        _("Failures in %d days") % DAYS,
        _("Calls in %d days") % DAYS,
    )
    return FigureTable(headings, rows, nothing=_("No tool has failed."))


def _models(today: DayAmounts, all_days: DayAmounts, day: date, links: OverviewLinks) -> FigureTable:
    """Return tokens and cost by agent and model, in the order of their tokens."""
    tokens = today.of(DayMetric.TOKENS)
    cost = today.of(DayMetric.COST)
    all_cost = all_days.of(DayMetric.COST)
    first = day - timedelta(days=DAYS - 1)
    rows = []
    for key, all_tokens in all_days.of(DayMetric.TOKENS).most_common(MAX_ROWS):
        agent, model = key
        row = [
            Cell(agent),
            Cell(isolated(model)),
            Cell(_number(tokens[key]), links.sessions_of(day, day, agent=agent)),
            Cell(format_cost(cost[key])),
            Cell(_number(all_tokens), links.sessions_of(first, day, agent=agent)),
            Cell(_cost_or_why_not(all_cost[key], model)),
        ]
        rows.append(row)
    headings = (
        _("Agent"),
        _("Model"),
        _("Tokens today"),
        _("Cost today"),
        _("Tokens in %d days") % DAYS,
        _("Cost in %d days") % DAYS,
    )
    return FigureTable(headings, rows, nothing=_("No model was called."))


def _price_note(day: DayAmounts) -> str:
    """Return a note on the models of a day whose tokens the cost leaves out; empty when all have a price."""
    used = {model for (_agent, model), tokens in day.of(DayMetric.TOKENS).items() if tokens}
    unpriced = sorted(model for model in used if not conf().price(model))
    if not unpriced:
        return ""
    return _("without %s: no price") % ", ".join(unpriced)


def _cost_or_why_not(cost: float, model: str) -> str:
    if not cost and not conf().price(model):
        return _("no price")
    return format_cost(cost)


def _people(request: HttpRequest, day: date, links: OverviewLinks) -> FigureTable:
    """Return the people with the largest used shares of their budgets today; nothing without a budget."""
    budgets = {"tokens": conf().max_tokens_per_user, "cost": conf().max_cost_per_user}
    # By the larger share, so people near either budget come first.
    shares = [F(name) * Value(1 / budget, FloatField()) for name, budget in budgets.items() if budget]
    headings = (_("Person"), _("Tokens"), _("Cost"), _("Of the budget"))
    if not shares:
        return FigureTable(headings, ())
    largest = Greatest(*shares, Value(0.0), output_field=FloatField())
    used = within_remits(request, PersonUsage.objects.filter(day=day), REMIT_OF_USER)
    people = []
    for usage in used.annotate(share=largest).select_related("user").order_by("-share")[:MAX_SERIES]:
        name = usage.user.get_username()
        person = [
            Cell(name, links.sessions_of(day, day, user=name)),
            Cell(_number(usage.tokens)),
            Cell(format_cost(usage.cost)),
            Cell(_bar(round(100 * usage.share))),
        ]
        people.append(person)
    return FigureTable(headings, people)


def _plots(days: Mapping[date, DayAmounts]) -> list[tuple[str, SafeString]]:
    labels = [date_format(day, "j M") for day in days]
    several = list(days.values())
    outcomes: dict[str, list[float | None]] = {str(status.label): [] for status in SHOWN_OUTCOMES}
    waits: dict[str, list[float | None]] = {_("median"): [], _("95%"): []}
    for day in several:
        counted = day.by_name(DayMetric.INVOCATIONS)
        for status in SHOWN_OUTCOMES:
            outcomes[str(status.label)].append(counted[status])
        waits[_("median")].append(_percentile(day, 0.5))
        waits[_("95%")].append(_percentile(day, 0.95))
    plots: list[tuple[Draw, str, Series]] = [
        (stacked_bars, _("Invocations by outcome"), outcomes),
        (lines, _("Time to first word, in seconds"), waits),
        (stacked_bars, _("Failed calls by tool"), _series(several, DayMetric.FAILURES)),
        (stacked_bars, _("Tokens by agent"), _series(several, DayMetric.TOKENS)),
    ]
    return [(title, draw(title, labels, series)) for draw, title, series in plots]


def _series(days: list[DayAmounts], metric: DayMetric) -> dict[str, list[float]]:
    """Return the largest series of a metric by name, and the sum of the others, without amounts without a name."""
    largest = [name for name, _amount in DayAmounts.sum(days).by_name(metric).most_common(MAX_SERIES) if name]
    series: dict[str, list[float]] = {name: [] for name in largest}
    others: list[float] = []
    for day in days:
        amounts = day.by_name(metric)
        amounts.pop("", None)
        for name in largest:
            series[name].append(amounts.pop(name, 0))
        others.append(amounts.total())
    if any(others):
        series[_("others")] = others
    return series


def _days(days: dict[date, DayAmounts], links: OverviewLinks, *, counts_people: bool) -> FigureTable:
    """Return the figures of each day, the newest first."""
    rows = []
    for day, amounts in reversed(days.items()):
        row = _day_row(day, amounts, links)
        if counts_people:
            row.insert(1, Cell(_number(amounts.total(DayMetric.PEOPLE))))
        rows.append(row)
    headings = [
        _("Day"),
        _("Invocations"),
        _("Failed"),
        _("First word, median"),
        _("95%"),
        _("Failed calls"),
        _("Tokens"),
        _("Cost"),
    ]
    if counts_people:
        headings.insert(1, _("People"))
    return FigureTable(headings, rows)


def _day_row(day: date, amounts: DayAmounts, links: OverviewLinks) -> list[Cell]:
    outcomes = amounts.by_name(DayMetric.INVOCATIONS)
    failed = InvocationStatus.FAILED
    return [
        Cell(date_format(day), links.sessions_of(day, day)),
        Cell(_number(sum(outcomes.values())), links.invocations_of(day)),
        Cell(_number(outcomes[failed]), links.invocations_of(day, status__exact=failed)),
        Cell(_first_word(amounts, 0.5)),
        Cell(_first_word(amounts, 0.95)),
        Cell(_number(_tool_failures(amounts)), links.failures_of(day, day)),
        Cell(_number(amounts.total(DayMetric.TOKENS))),
        Cell(format_cost(amounts.total(DayMetric.COST))),
    ]


def _tool_failures(amounts: DayAmounts) -> float:
    failures: Counter[str] = amounts.by_name(DayMetric.FAILURES)
    return sum(number for name, number in failures.items() if name)


def _percentile(amounts: DayAmounts, share: float) -> float | None:
    return percentile(amounts.by_name(DayMetric.FIRST_WORD), share)


def _first_word(amounts: DayAmounts, share: float) -> str:
    seconds = _percentile(amounts, share)
    return "-" if seconds is None else format_duration(timedelta(seconds=seconds))


def _number(amount: float) -> str:
    return f"{round(amount):,}"


def _bar(percentage: int) -> SafeString:
    meter = '<meter class="audit-progress" max="100" high="80" value="{0}" aria-hidden="true"></meter> {0}%'
    return format_html(meter, percentage)


def load_costly_sessions(request: HttpRequest) -> FigureTable:
    """Return the sessions within the remits of the user, the most expensive first, in one query.

    Staff without the right to read texts get keys instead of titles, which are part of conversations.
    """
    figures = SessionFigures.objects.filter(cost__gt=0, session__deleted_at=None)
    found = (
        within_remits(request, figures, REMIT_OF_SESSION).select_related("session__user").order_by("-cost")
    )
    may_read = may(request, Right.VIEW_TEXT)
    may_open = may_read and may(request, "sessions_app.view_session")
    shown = found.only(
        "tokens", "cost", "session__app_name", "session__key", "session__title", "session__user"
    )
    rows = []
    for row in shown[:MAX_SESSIONS]:
        session = row.session
        url = ""
        if may_open:
            url = session_url(session.pk)
        name = session.key
        if may_read and session.title:
            name = session.title
        values = [
            Cell(name, url),
            Cell(isolated(session.app_name)),
            Cell(isolated(session.user.get_username())),
            Cell(_number(row.tokens)),
            Cell(format_cost(row.cost)),
        ]
        rows.append(values)
    return FigureTable((_("Session"), _("App"), _("Person"), _("Tokens"), _("Cost")), rows)
