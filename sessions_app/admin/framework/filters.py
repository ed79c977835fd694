"""Filters of lists by a value, by app, by tool, and by the presence of a value."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.permissions import (
    REMIT_OF_ROW,
    REMIT_OF_SESSION,
    RemitPaths,
    remits_of,
    within_remits,
)
from sessions_app.models import Invocation, Session, ToolJob
from sessions_app.process.replica import reading_connection

MAX_CHOICES = 200


def distinct_values(model: type[Model], column: str) -> list[str]:
    """Return the values of a column in order, `MAX_CHOICES` at most. The column must be the first of an index."""
    connection = reading_connection()
    table = connection.ops.quote_name(model._meta.db_table)
    name = connection.ops.quote_name(column)
    # Each step looks up the next larger value in the index. DISTINCT would read the whole table for a few values.
    smallest = f"SELECT min({name}) FROM {table}"  # noqa: S608 (names of a model)
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH RECURSIVE found(value) AS (({smallest}) UNION ALL SELECT ({smallest} WHERE {name} > value)"  # noqa: S608
            " FROM found WHERE value IS NOT NULL)"
            " SELECT value FROM found WHERE value IS NOT NULL LIMIT %s",
            [MAX_CHOICES],
        )
        return [value for (value,) in cursor.fetchall()]


def values_within_remits(
    request: HttpRequest, model: type[Model], column: str, paths: RemitPaths = REMIT_OF_SESSION
) -> list[str]:
    """Return the values of a column, as `distinct_values`, that rows within the remits of the user have."""
    values = distinct_values(model, column)
    if not remits_of(request):
        return values
    rows = within_remits(request, model._default_manager.all(), paths)
    return [value for value in values if rows.filter(**{column: value}).exists()]


class ValueFilter(admin.SimpleListFilter):
    """Base of filters by a value of the column `parameter_name`."""

    def values(self, request: HttpRequest) -> Iterable[str]:
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(value, value) for value in self.values(request)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset if value is None else self.matching(queryset, value)

    def matching(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return the rows with the chosen value."""
        return queryset.filter(**{str(self.parameter_name): value})


class AppFilter(ValueFilter):
    """Filter of rows of sessions by app."""

    title = _("app")
    parameter_name = "session__app_name"

    def values(self, request: HttpRequest) -> Iterable[str]:
        return values_within_remits(request, Session, "app_name", REMIT_OF_ROW)


class SessionAppFilter(AppFilter):
    parameter_name = "app_name"


class AgentVersionFilter(ValueFilter):
    """Filter of invocations by the version of their app."""

    title = _("version of the agent")
    parameter_name = "agent_version"

    def values(self, request: HttpRequest) -> Iterable[str]:
        return filter(None, values_within_remits(request, Invocation, "agent_version"))


class ToolFilter(ValueFilter):
    title = _("tool")
    parameter_name = "tool_name"

    def values(self, request: HttpRequest) -> Iterable[str]:
        return values_within_remits(request, ToolJob, "tool_name")


def presence_filter(*, absent: Promise, present: Promise) -> type[admin.EmptyFieldListFilter]:
    """Return a filter by the presence of a value, with words for both: "Lifted" instead of "Not empty"."""

    class PresenceFilter(admin.EmptyFieldListFilter):
        def choices(self, changelist: Any) -> Iterator[Any]:
            words = (None, absent, present)  # The first choice stands for all rows.
            for choice, word in zip(super().choices(changelist), words, strict=True):
                yield {**choice, "display": word or choice["display"]}

    return PresenceFilter
