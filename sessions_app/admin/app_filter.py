"""Filters of lists by app and by tool."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import connection
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.permissions import apps_within_remits
from sessions_app.models import Session, ToolJob

MAX_CHOICES = 200


def distinct_values(model: type[Model], column: str) -> list[str]:
    """Return the values of a column in order, `MAX_CHOICES` at most. The column must be the first of an index."""
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


class AppFilter(admin.SimpleListFilter):
    """Filter of rows of sessions by app."""

    title = _("app")
    parameter_name = "session__app_name"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = apps_within_remits(request, distinct_values(Session, "app_name"))
        return [(name, name) for name in names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(**{self.parameter_name: self.value()})


class SessionAppFilter(AppFilter):
    """Filter of sessions by app."""

    parameter_name = "app_name"


class ToolFilter(AppFilter):
    """Filter of jobs by tool."""

    title = _("tool")
    parameter_name = "tool_name"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in distinct_values(ToolJob, "tool_name")]
