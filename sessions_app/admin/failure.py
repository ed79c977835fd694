"""Admin of failures, grouped by cause and one by one, and of the exceptions of tools.

Staff assign a cause to a colleague and say that it is resolved. A resolved cause that fails on a later day is open
again.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.base import SESSION_COLUMNS_WITHOUT_TEXT, SessionRowAdmin
from sessions_app.admin.framework.columns import shown_column
from sessions_app.admin.framework.confirmed_action import GO_BACK, ReasonForm, Wording, confirmation_page
from sessions_app.admin.framework.figure_filters import FailedToolFilter
from sessions_app.admin.framework.figure_table import Cell, FigureTable
from sessions_app.admin.framework.filters import ValueFilter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.links import call_link, list_url
from sessions_app.admin.framework.permissions import Right, may, require, sums_within_remits
from sessions_app.admin.framework.staff_records import record_act
from sessions_app.history.figures.days import local_day
from sessions_app.models import ActionKind, CallError, DayFigure, DayMetric, Failure, FailureCause
from sessions_app.rendering.audit_values import NOTHING, excerpt
from sessions_app.rendering.plots import stacked_bars
from sessions_app.secrets.error_detail import cause_in

DAYS = 30
MAX_GROUPED = 20_000
"""Largest number of failures in the groups, the newest first."""
MAX_GROUPS = 25
MAX_SERIES = 5
Cause = tuple[str, str]
"""Tool and cause."""


class CauseFilter(ValueFilter):
    """Filter by a cause, set by the links of the groups. The list does not offer causes to choose from."""

    title = _("cause")
    parameter_name = "cause"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        value = request.GET.get(self.parameter_name)
        return [(value, excerpt(value))] if value else []


class CauseForm(ReasonForm):
    """The member of staff who takes care of a cause, and whether it is resolved."""

    assignee = forms.ModelChoiceField(
        get_user_model().objects.filter(is_staff=True, is_active=True), required=False, label=_("Assigned to")
    )
    resolved = forms.BooleanField(required=False, label=_("Resolved: it will not fail again"))
    field_order = ("assignee", "resolved", "reason")


CAUSE_WORDING = Wording(link="", title=_("Assign or resolve a cause"), confirm=_("Save"), refrain=GO_BACK)


@admin.register(Failure)
class FailureAdmin(KeysetAdmin, SessionRowAdmin):
    """Failures, newest first. Staff need the right to read texts, because a cause may quote a conversation."""

    shows_text = True
    list_display = ("event", "day", "tool", "short_cause", "of_session", "app")
    list_display_links = None
    list_filter = (FailedToolFilter, CauseFilter, "day")
    ordering = ("-day", "-id")
    fields = ("event", "day", "tool", "cause", "of_session")
    change_list_template = "admin/sessions_app/failure/change_list.html"
    short_cause = shown_column("cause", _("Cause"))

    class Media:
        css = {"all": ["sessions_app/admin/figures.css"]}

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the groups above the list, unless it is filtered."""
        groups = None
        if not request.GET and self.has_view_permission(request):
            groups = self._groups(request)
        return super().changelist_view(request, {"groups": groups})

    def get_urls(self) -> list[URLPattern]:
        return [self.view_path("cause/", self.cause_view, "cause"), *super().get_urls()]

    def cause_view(self, request: HttpRequest) -> HttpResponse:
        """Assign or resolve the cause in the query string."""
        require(request, Right.RESOLVE_FAILURE)
        if not self.has_view_permission(request):
            raise PermissionDenied
        tool = request.GET.get("tool", "")
        cause = request.GET.get("cause", "")
        failures = self.get_queryset(request).filter(tool_name=tool, cause=cause)
        failure = failures.order_by(*self.ordering).first()
        if failure is None:
            raise Http404("No failure has this cause.")
        key = cause_key(tool, cause)
        known = FailureCause.objects.filter(key=key).first() or FailureCause()
        initial = {"assignee": known.assignee_id, "resolved": is_resolved(known, failure.day)}
        form = CauseForm(request.POST or None, initial=initial)
        if form.is_valid():
            resolved_on = local_day() if form.cleaned_data["resolved"] else None
            values = {"assignee": form.cleaned_data["assignee"], "resolved_on": resolved_on}
            with transaction.atomic():
                record_act(request, ActionKind.CHANGE, failure, form.cleaned_data["reason"])
                FailureCause.objects.update_or_create(key=key, defaults=values)
            messages.success(request, gettext("The cause is saved."))
            return HttpResponseRedirect(list_url("failure"))
        return confirmation_page(
            self,
            request,
            CAUSE_WORDING,
            form,
            row=failure,
            description=f"{self.tool(failure)}: {excerpt(cause)}",
            return_url=list_url("failure", tool=tool, cause=cause),
        )

    def _groups(self, request: HttpRequest) -> dict[str, Any]:
        today = local_day()
        days = [today - timedelta(days=age) for age in reversed(range(DAYS))]
        recent = self.get_queryset(request).filter(day__gte=days[0]).order_by(*self.ordering)
        # Grouped in Python over a bounded number of rows: a GROUP BY would read all failures of the days.
        rows = list(recent.values_list("tool_name", "cause", "day")[:MAX_GROUPED])
        counts: dict[Cause, Counter[date]] = {}
        for tool, cause, day in rows:
            counts.setdefault((tool, cause), Counter())[day] += 1
        groups = sorted(counts.items(), key=lambda group: (-group[1].total(), group[0]))[:MAX_GROUPS]
        series = {}
        for (tool, cause), numbers in groups[:MAX_SERIES]:
            series[excerpt(f"{tool} {cause}", 40)] = [numbers[day] for day in days]
        first_days = self._first_days(request, [cause for cause, _ in groups])
        title = gettext("Failures by cause")
        plot = ""
        if series:
            plot = stacked_bars(title, [date_format(day, "j M") for day in days], series)
        return {
            "days": DAYS,
            "is_cut": len(rows) == MAX_GROUPED,
            "rows": list(_rows_of(groups, today, first_days)),
            "may_resolve": may(request, Right.RESOLVE_FAILURE),
            "rejections": _rejections(request, days),
            "title": title,
            "plot": plot,
        }

    def _first_days(self, request: HttpRequest, causes: list[Cause]) -> dict[Cause, date]:
        """Return the first day of each cause, among all stored failures."""
        failures = self.get_queryset(request).values_list("tool_name", "cause", "day")
        # Each by an index. Min of all groups would read all of their failures.
        firsts = []
        for tool, cause in causes:
            of_cause = failures.filter(tool_name=tool, cause=cause)
            firsts.append(of_cause.order_by("day", "id")[:1])
        if not firsts:
            return {}
        found = firsts[0].union(*firsts[1:], all=True)
        return {(tool, cause): day for tool, cause, day in found}

    @admin.display(description=_("Tool"))
    def tool(self, failure: Failure) -> str:
        return failure.tool_name or str(_("no tool"))


def cause_key(tool: str, cause: str) -> str:
    # The length of the name keeps a tool and a cause apart that read the same when joined.
    return hashlib.sha256(f"{len(tool)} {tool} {cause}".encode()).hexdigest()


def is_resolved(known: FailureCause, last_seen: date) -> bool:
    """True if nothing has failed with this cause since the day of its resolution."""
    return known.resolved_on is not None and last_seen <= known.resolved_on


def _rejections(request: HttpRequest, days: list[date]) -> FigureTable:
    """Return how many calls of each tool people have rejected: today, in 7 days and in all of the days."""
    figures = sums_within_remits(request, DayFigure.objects.all())
    rejected = figures.filter(metric=DayMetric.REJECTIONS, day__gte=days[0])
    by_tool: dict[str, Counter[date]] = {}
    for name, day, amount in rejected.values_list("name", "day", "amount"):
        by_tool.setdefault(name, Counter())[day] += round(amount)
    rows = []
    for tool, numbers in sorted(by_tool.items())[:MAX_GROUPS]:
        in_week = sum(numbers[day] for day in days[-7:])
        counts = (numbers[days[-1]], in_week, numbers.total())
        rows.append([Cell(tool), *[Cell(str(count)) for count in counts]])
    headings = (_("Tool"), _("Today"), _("7 days"), gettext("%d days") % DAYS)
    return FigureTable(headings, rows)


def _rows_of(
    groups: list[tuple[Cause, Counter[date]]], today: date, first_days: Mapping[Cause, date]
) -> Iterator[dict[str, Any]]:
    keys = [cause_key(tool, cause) for (tool, cause), _ in groups]
    stored = FailureCause.objects.filter(key__in=keys).select_related("assignee")
    known_causes = {row.key: row for row in stored}
    cause_page = reverse("admin:sessions_app_failure_cause")
    for key, ((tool, cause), numbers) in zip(keys, groups, strict=True):
        last_seen = max(numbers)
        known = known_causes.get(key, FailureCause())
        yield {
            "first_seen": first_days[tool, cause],
            "last_seen": last_seen,
            "tool": tool,
            "cause": excerpt(cause),
            "url": list_url("failure", tool=tool, cause=cause),
            "known": known,
            "is_resolved": is_resolved(known, last_seen),
            "cause_url": f"{cause_page}?{urlencode({'tool': tool, 'cause': cause})}",
            "today": _count_of(tool, cause, numbers, 1, today),
            "in_week": _count_of(tool, cause, numbers, 7, today),
            "in_days": _count_of(tool, cause, numbers, DAYS, today),
        }


def _count_of(tool: str, cause: str, numbers: Counter[date], days: int, today: date) -> dict[str, Any]:
    """Return the number of failures of a cause in the last `days`, and the URL of their list."""
    first = today - timedelta(days=days - 1)
    end = today + timedelta(days=1)
    url = list_url("failure", tool=tool, cause=cause, day__gte=first.isoformat(), day__lt=end.isoformat())
    return {"number": sum(number for day, number in numbers.items() if day >= first), "url": url}


@admin.register(CallError)
class CallErrorAdmin(KeysetAdmin, SessionRowAdmin):
    """Exceptions of tools, newest first, for staff with the permission to see details of errors.

    A traceback may quote arguments: staff without the right to read texts see the exception and its place.
    """

    text_columns = {
        **SESSION_COLUMNS_WITHOUT_TEXT,
        "event": "seq",
        "response": "call_id",
        "traceback": "place",
    }
    list_display = ("at", "tool_name", "error", "of_session", "app", "event")
    list_filter = ("at",)
    large_fields = ("detail",)
    ordering = ("-at", "-id")
    fields = ("at", "tool_name", "error", "of_session", "response", "traceback")

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return may(request, Right.VIEW_ERROR_DETAIL)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @admin.display(description=_("Response of the call"))
    def response(self, row: CallError) -> SafeString | str:
        return call_link(row.session_id, row.call_id, row.seq)

    @admin.display(description=_("Place of the error"))
    def place(self, row: CallError) -> str:
        return cause_in(row.detail).place or NOTHING

    @admin.display(description=_("Traceback"))
    def traceback(self, row: CallError) -> SafeString:
        return format_html('<pre class="audit-block" tabindex="0">{}</pre>', row.detail)
