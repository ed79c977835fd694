"""List of a large table in a fixed order. The query string has the position of a row, and rows are not counted.

Page 1,000 of such a list costs as much as page 1: each page begins after a row found by an index. With OFFSET,
PostgreSQL would read and drop all rows before the page; a count would read the whole table.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, ClassVar, cast

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import DateTimeField, ExpressionWrapper, F, Field, Model, Q, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest

from sessions_app.admin.base import ReadOnlyAdmin
from sessions_app.admin.columns import field_column, short_time
from sessions_app.admin.guarded_views import UncountedChangeList
from sessions_app.base.timing import in_utc

SEPARATOR = "~"
RECENT_ROWS = 2_000
"""Number of the newest rows to search for matches before the indexes of the filters are used."""


class KeysetChangeList(UncountedChangeList):
    """Page of a list in the order of `ModelAdmin.ordering`: one field or two, all descending or all ascending.

    Attributes:
        estimated_rows: number of rows in the table by PostgreSQL's last estimate; None for a filtered list.
    """

    model_admin: KeysetAdmin

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Model]) -> list[str | Combinable]:
        return [str(name) for name in self.model_admin.ordering or ()]

    def get_results(self, request: HttpRequest) -> None:
        """Load the rows after the position in the query string.

        Raises:
            IncorrectLookupParameters: the query string has no valid position.
        """
        position = request.GET.get(PAGE_VAR, "")
        # One row more tells whether there is a next page.
        rows = self.rows_after(position, self.list_per_page + 1)
        shown = rows[: self.list_per_page]
        next_position = self.position_of(shown[-1]) if len(rows) > len(shown) else None
        self.show_rows(shown, next_position, is_first=not position)
        self.estimated_rows = None
        if not self.query and not self.has_active_filters:
            self.estimated_rows = _estimated_rows(self.model)
        self.model_admin.complete_rows(request, shown, self.query)

    def rows_after(self, position: str, count: int) -> list[Any]:
        """Return the first `count` rows of the list after a position; an empty position is before the first row.

        Raises:
            IncorrectLookupParameters: the position is invalid.
        """
        after = self._after(position) if position else Q()
        rows = self.queryset.filter(after).defer(*self.model_admin.large_fields)
        if not self.model_admin.has_rare_filters or not self.has_active_filters:
            return list(rows[:count])
        return self._filtered(rows, self.root_queryset.filter(after), count)

    def _filtered(self, rows: QuerySet[Model], unfiltered: QuerySet[Model], count: int) -> list[Any]:
        """Return the first rows within the filters, in time for filters with many and with few matches."""
        # PostgreSQL cannot tell whether many or few rows match. In the order of the list it would search the whole
        # table for a few matches; by the indexes of the filters it would sort many. So try the newest rows first,
        # where a common value has enough matches.
        first, *rest = [str(name) for name in self.model_admin.ordering or ()]
        field = first.removeprefix("-")
        times = unfiltered.order_by(first).values_list(field, flat=True)
        oldest = times[RECENT_ROWS - 1 : RECENT_ROWS].first()
        recent = rows if oldest is None else rows.filter(**{f"{field}__gte": oldest})
        found = list(recent[:count])
        if len(found) == count or oldest is None:
            return found
        # The sum keeps PostgreSQL from reading the index in the order of the list: only the indexes of the filters
        # are left.
        unindexed = ExpressionWrapper(F(field) + timedelta(0), output_field=DateTimeField())
        return list(rows.order_by(unindexed.desc(), *rest)[:count])

    @property
    def _fields(self) -> list[str]:
        return [str(name).removeprefix("-") for name in self.model_admin.ordering or ()]

    def position_of(self, row: Model) -> str:
        """Return the position of a row as text. The next page begins after this position."""
        return SEPARATOR.join(self._field(name).value_to_string(row) for name in self._fields)

    def _field(self, name: str) -> Field[Any, Any]:
        return cast("Field[Any, Any]", self.model._meta.get_field(name))

    def _value(self, name: str, text: str) -> Any:
        value = self._field(name).to_python(text)
        # Python reads offsets of 16 hours and more, which PostgreSQL refuses.
        return in_utc(value) if isinstance(value, datetime) else value

    def _after(self, position: str) -> Q:
        """Return a filter for the rows after a position."""
        try:
            texts = dict(zip(self._fields, position.split(SEPARATOR), strict=True))
            values = {name: self._value(name, text) for name, text in texts.items()}
        except (ValueError, ValidationError, OverflowError) as error:
            raise IncorrectLookupParameters(error) from error
        (first, value), *rest = values.items()
        behind = "lt" if self.model_admin.is_newest_first else "gt"
        if not rest:
            return Q(**{f"{first}__{behind}": value})
        ((second, second_value),) = rest
        # The first condition alone would do for the result, but PostgreSQL needs a plain range to read from the
        # index.
        is_behind = Q(**{f"{first}__{behind}": value}) | Q(**{f"{second}__{behind}": second_value})
        return Q(**{f"{first}__{behind}e": value}) & is_behind


class KeysetAdmin(ReadOnlyAdmin):
    """Admin whose list is a `KeysetChangeList`. Its columns do not sort: only the order of an index is fast.

    Attributes:
        large_fields: columns to leave out of the query of the list.
        has_rare_filters: True if filters may match few rows, and their indexes are not in the order of the list.
            The first field of `ordering` must then be a time.
    """

    large_fields: ClassVar[tuple[str, ...]] = ()
    has_rare_filters = False
    change_list_template = "admin/sessions_app/keyset_list.html"
    sortable_by = ()

    @property
    def is_newest_first(self) -> bool:
        """True when the fields of `ordering` descend."""
        return str((self.ordering or ("-",))[0]).startswith("-")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return KeysetChangeList

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        return tuple(self._column(name) for name in super().get_list_display(request))

    def _column(self, name: Any) -> Any:
        """Return the column; a time in its short form, to fit on one line."""
        fields = {field.name: field for field in self.opts.fields}
        field = fields.get(name)
        is_time = isinstance(getattr(field, "output_field", field), DateTimeField)
        return field_column(field, short_time) if field and is_time else name

    def complete_rows(self, request: HttpRequest, rows: list[Any], query: str) -> None:
        """Add data for the columns to the rows of a page, such as the excerpt with the hit of a search."""


def _estimated_rows(model: type[Model]) -> int:
    """Return the number of rows at PostgreSQL's last ANALYZE; -1 before the first ANALYZE."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass", [model._meta.db_table]
        )
        (rows,) = cursor.fetchone()
    return int(rows)
