"""Columns of lists and lines of rows' pages: times short or exact, beginnings of texts."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Field
from django.utils import timezone
from django.utils.formats import date_format

from sessions_app.rendering.audit_values import NOTHING, excerpt


def field_column(field: "Field[Any, Any]", show: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
    """Return a column with the value of a field as `show` writes it, under the field's name and heading."""

    @admin.display(description=field.verbose_name)
    def column(row: Any) -> str | None:
        return show(getattr(row, field.name))

    # Django takes the name of the column from the function.
    column.__name__ = field.name
    return column


def shown_column(
    field_name: str, description: Any, show: Callable[[Any], str] = excerpt
) -> Callable[[Any, Any], str]:
    """Return a method of an admin: a column with the value of a field as `show` writes it."""

    @admin.display(description=description)
    def column(model_admin: Any, row: Any) -> str:
        return show(getattr(row, field_name))

    return column


def exact_time(moment: datetime | None) -> str:
    """Return a time to the second, with its zone."""
    # The order of acts and the time between them are evidence.
    if moment is None:
        return NOTHING
    return date_format(timezone.localtime(moment), "Y-m-d H:i:s T")


def short_time(moment: datetime | None) -> str | None:
    """Return day, month, hour and minute of a time, and the year unless it is the current year; None without a time."""
    if moment is None:
        return None
    local = timezone.localtime(moment)
    is_this_year = local.year == timezone.localtime().year
    return date_format(local, "j M H:i" if is_this_year else "j M Y H:i")
