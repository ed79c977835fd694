"""Costs by app and person, the highest first: today and in the last days.

Apps have their figures of days. People have their use of today, which limits read, and the figures of their sessions,
because a figure of a day names nobody.
"""

from datetime import date, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import F, Q, QuerySet, Sum
from django.http import HttpRequest
from django.utils.translation import gettext as _

from sessions_app.admin.framework.figure_table import Cell, FigureTable
from sessions_app.admin.framework.permissions import (
    REMIT_OF_SESSION,
    REMIT_OF_USER,
    sums_within_remits,
    within_remits,
)
from sessions_app.admin.overview.links import OverviewLinks
from sessions_app.history.figures.days import local_day
from sessions_app.models import DayFigure, DayMetric, PersonUsage, SessionFigures
from sessions_app.rendering.audit_values import format_cost

DAYS = 30
MAX_ROWS = 15


def load_costs(request: HttpRequest) -> list[tuple[str, str, FigureTable]]:
    """Return the tables of apps and people with most cost within the remits of the user, for today and `DAYS` days.

    Each with its key and its title.
    """
    today = local_day()
    first = today - timedelta(days=DAYS - 1)
    links = OverviewLinks(request)
    used = within_remits(request, PersonUsage.objects.filter(day=today), REMIT_OF_USER)
    name = get_user_model().USERNAME_FIELD
    used_today = used.values(who=F(f"user__{name}"), all_tokens=F("tokens"), all_cost=F("cost"))
    # With the deleted sessions: nobody leaves the list by a deletion.
    figures = SessionFigures.objects.filter(session__updated_at__gte=links.start_of(first))
    of_people = within_remits(request, figures, REMIT_OF_SESSION).values(who=F(f"session__user__{name}"))
    summed = of_people.annotate(all_tokens=Sum("tokens"), all_cost=Sum("cost"))
    in_days = _("%d days") % DAYS
    apps_today = _table(_of_apps(request, today, today), links, "app_name", today, today)
    apps = _table(_of_apps(request, first, today), links, "app_name", first, today)
    return [
        ("apps-today", _("Apps, today"), apps_today),
        ("apps", f"{_('Apps')}, {in_days}", apps),
        ("people-today", _("People, today"), _table(used_today, links, "user", today, today)),
        ("people", f"{_('People')}, {in_days}", _table(summed, links, "user", first, today)),
    ]


def _of_apps(request: HttpRequest, first: date, last: date) -> QuerySet[Any, Any]:
    days = DayFigure.objects.filter(day__range=(first, last), metric__in=(DayMetric.TOKENS, DayMetric.COST))
    apps = sums_within_remits(request, days).values(who=F("app_name"))
    return apps.annotate(
        all_tokens=Sum("amount", filter=Q(metric=DayMetric.TOKENS), default=0.0),
        all_cost=Sum("amount", filter=Q(metric=DayMetric.COST), default=0.0),
    )


def _table(
    sums: QuerySet[Any, Any], links: OverviewLinks, parameter: str, first: date, last: date
) -> FigureTable:
    """Return the rows with most cost, and of those without a price with most tokens."""
    rows = []
    for row in sums.order_by("-all_cost", "-all_tokens", "who")[:MAX_ROWS]:
        name = Cell(row["who"], links.sessions_of(first, last, **{parameter: row["who"]}))
        tokens = Cell(f"{round(row['all_tokens']):,}")
        rows.append([name, tokens, Cell(format_cost(row["all_cost"]))])
    heading = _("App") if parameter == "app_name" else _("Person")
    return FigureTable((heading, _("Tokens"), _("Cost")), rows, nothing=_("No model was called."))
