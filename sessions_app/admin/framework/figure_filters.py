"""Filters of sessions by their figures, and by a form for a person, dates and a cost."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.filters import MAX_CHOICES, ValueFilter
from sessions_app.admin.framework.permissions import sums_within_remits
from sessions_app.history.figures.days import local_day
from sessions_app.models import DayFigure, DayMetric, Failure, Invocation, InvocationStatus, Session
from sessions_app.models.figures import AGENT, OUTCOME, TOOL, label

RECENT = timedelta(days=90)
"""Age of the oldest figures whose agents and tools are offered as choices."""


class FigureLabelFilter(ValueFilter):
    """Base of the filters of sessions by a kind of label."""

    kind: ClassVar[str]
    metric: ClassVar[DayMetric]

    def values(self, request: HttpRequest) -> Iterable[str]:
        return recent_names(request, self.metric)

    def matching(self, queryset: QuerySet[Session], value: str) -> QuerySet[Session]:
        return _labelled(queryset, self.kind, value)


def recent_names(request: HttpRequest, metric: DayMetric) -> Iterable[str]:
    """Return the recent names of a metric, from the apps whose people are all within the remits."""
    # Figures of days do not say whose sessions a name comes from, so a remit of some people gives no names.
    days = sums_within_remits(request, DayFigure.objects.all())
    recent = days.filter(metric=metric, day__gte=local_day() - RECENT)
    return recent.exclude(name="").values_list("name", flat=True).distinct().order_by("name")[:MAX_CHOICES]


class AgentFilter(FigureLabelFilter):
    """Filter by an agent among the authors of the session."""

    title = _("agent")
    parameter_name = "agent"
    kind = AGENT
    metric = DayMetric.TOKENS


class SessionToolFilter(FigureLabelFilter):
    """Filter by a tool with an answered call in the session."""

    title = _("tool")
    parameter_name = "tool"
    kind = TOOL
    metric = DayMetric.CALLS


class FailedToolFilter(ValueFilter):
    """Filter of failures by tool. Failures without a tool are errors of models and of the runtime.

    Attributes:
        any_tool: value of the choice for all tools; no tool has this name.
    """

    any_tool = "*"

    title = _("tool")
    parameter_name = "tool"

    def values(self, request: HttpRequest) -> Iterable[str]:
        return recent_names(request, DayMetric.FAILURES)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        names = super().lookups(request, model_admin)
        return [(self.any_tool, _("any tool")), *names, ("", _("no tool"))]

    def matching(self, queryset: QuerySet[Failure], value: str) -> QuerySet[Failure]:
        if value == self.any_tool:
            return queryset.exclude(tool_name="")
        return queryset.filter(tool_name=value)


class OutcomeFilter(ValueFilter):
    """Filter of sessions by the status of their invocations."""

    title = _("invocations")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(InvocationStatus.choices)

    def matching(self, queryset: QuerySet[Session], value: str) -> QuerySet[Session]:
        # Figures have the outcomes of ended invocations, some seconds late. Open invocations are few and have an
        # index.
        if value in InvocationStatus.open():
            return queryset.filter(pk__in=Invocation.objects.filter(status=value).values("session"))
        return _labelled(queryset, OUTCOME, value)


def _labelled(sessions: QuerySet[Session], kind: str, name: str) -> QuerySet[Session]:
    return sessions.filter(figures__labels__contains=[label(kind, name)])


class SessionForm(forms.Form):
    """Person, time of the last event, tokens, cost and errors of sessions."""

    user = forms.CharField(required=False, max_length=254, label=_("Person"))
    since = forms.DateField(required=False, label=_("From"), widget=forms.DateInput({"type": "date"}))
    until = forms.DateField(required=False, label=_("To"), widget=forms.DateInput({"type": "date"}))
    tokens_above = forms.IntegerField(required=False, min_value=0, max_value=2**62, label=_("Tokens above"))
    cost_above = forms.FloatField(required=False, min_value=0, label=_("Cost above"))
    with_errors = forms.BooleanField(required=False, label=_("With errors"))

    def apply(self, sessions: QuerySet[Session]) -> QuerySet[Session]:
        """Return the sessions within all fields; no session if a field is invalid."""
        if not self.is_valid():
            return sessions.none()
        values = self.cleaned_data
        if name := values["user"]:
            sessions = sessions.filter(**{f"user__{get_user_model().USERNAME_FIELD}": name})
        if since := values["since"]:
            sessions = sessions.filter(updated_at__gte=_at(since, time.min))
        if until := values["until"]:
            sessions = sessions.filter(updated_at__lte=_at(until, time.max))
        # 0 is a value: it leaves out the sessions without tokens.
        if (tokens := values["tokens_above"]) is not None:
            sessions = sessions.filter(figures__tokens__gt=tokens)
        if (cost := values["cost_above"]) is not None:
            sessions = sessions.filter(figures__cost__gt=cost)
        return sessions.filter(figures__errors__gt=0) if values["with_errors"] else sessions


def _at(day: date, hour: time) -> datetime:
    return timezone.make_aware(datetime.combine(day, hour))


class SessionFormFilter(admin.ListFilter):
    """Filter of sessions by a form next to the list. The query string has the values of the form."""

    title = _("person, dates, tokens, cost and errors")
    template = "admin/sessions_app/form_filter.html"
    parameter_names = tuple(SessionForm.base_fields)

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: type[Session], model_admin: Any
    ) -> None:
        super().__init__(request, params, model, model_admin)
        for name in self.parameter_names:
            if name in params:
                self.used_parameters[name] = params.pop(name)[-1]
        self.form = SessionForm(self.used_parameters, auto_id="filter-%s")

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str | None]:
        return [*self.parameter_names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> QuerySet[Session]:
        return self.form.apply(queryset)

    def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
        """Yield the form, and the parameters of other filters as hidden fields of the form."""
        own = self.expected_parameters()
        kept = [(key, value) for key, value in changelist.params.items() if key not in own]
        yield {"form": self.form, "kept": kept}
