"""Column of a list with the times of a field in short form."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Field
from django.utils import timezone
from django.utils.formats import date_format


def time_column(field: Field[Any, Any]) -> Callable[[Any], str | None]:
    """Return a column with the field's name and heading."""

    @admin.display(description=field.verbose_name)
    def column(row: Any) -> str | None:
        return short_time(getattr(row, field.name))

    column.__name__ = field.name
    return column


def short_time(moment: datetime | None) -> str | None:
    """Return day, month, hour and minute, with the year only when it is not this year."""
    if moment is None:
        return None
    local = timezone.localtime(moment)
    is_this_year = local.year == timezone.localtime().year
    return date_format(local, "j M H:i" if is_this_year else "j M Y H:i")
