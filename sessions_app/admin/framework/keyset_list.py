"""List of a large table in the order of an index. The query string has the position of a row; rows are not counted.

Page 1,000 of such a list costs as much as page 1: each page begins after a row found by an index. With OFFSET,
PostgreSQL would read and drop all rows before the page; a count would read the whole table.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from typing import Any, ClassVar, cast

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR, ChangeList
from django.core.exceptions import ValidationError
from django.db.models import DateTimeField, ExpressionWrapper, F, Field, Model, Q, QuerySet
from django.db.models.constants import LOOKUP_SEP
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from sessions_app.admin.framework.base import ReadOnlyAdmin
from sessions_app.admin.framework.columns import field_column, short_time
from sessions_app.admin.framework.permissions import Right, may, remits_of
from sessions_app.admin.framework.uncounted_list import UncountedChangeList
from sessions_app.base.timing import in_utc
from sessions_app.history.word_search import END_OF_HIT, START_OF_HIT, Search, excerpts_of, search_list
from sessions_app.process.replica import reading_connection

SEPARATOR = "~"
RECENT_ROWS = (2_000, 16_000)
"""Numbers of the newest rows to search for matches, one after the other, before the indexes of filters are used."""
_MARKED_HIT = re.compile(f"{START_OF_HIT}([^{START_OF_HIT}{END_OF_HIT}]*){END_OF_HIT}")


@dataclass(frozen=True)
class ListPage:
    """Rows of a list.

    Attributes:
        next_position: position of the next page; empty at the end of the list.
        searched_to: time of the last row that a search has looked at; empty at the end of the list and without search.
    """

    rows: list[Any]
    next_position: str = ""
    searched_to: str = ""


class KeysetChangeList(UncountedChangeList):
    """Page of a list in the order of `ModelAdmin.ordering`: one field or two, all descending or all ascending.

    The columns in `sortable_by` sort the list as well, with the key as the second field.

    Attributes:
        order: fields of the order, with a hyphen if they descend.
        estimated_rows: number of rows in the table by PostgreSQL's last estimate; None for a filtered list.
        search: search for the term in the search box; None without a term, and in a list without such a search.
        searched_to: as in `ListPage`.
        may_read_causes: True if a search may find exceptions and their places.
        is_narrowed: True if filters or remits may leave few rows.
        is_full: True if the page has as many rows as a page can have.
    """

    model_admin: "KeysetAdmin"

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Model]) -> list[str | Combinable]:
        self.order = [str(name) for name in self.model_admin.ordering or ()]
        # A search reads the rows in the order of time.
        if ORDER_VAR in self.params and not self.query:
            chosen = str(super().get_ordering(request, queryset)[0])
            columns = map(self.get_ordering_field, self.model_admin.sortable_by)
            sortable = [str(column).removeprefix("-") for column in columns]
            if chosen.removeprefix("-") in sortable:
                self.order = [chosen, "-pk" if chosen.startswith("-") else "pk"]
        return [*self.order]

    @property
    def is_descending(self) -> bool:
        return self.order[0].startswith("-")

    @property
    def is_by_time(self) -> bool:
        """True if the list is in the order of `ModelAdmin.ordering`, which is that of time."""
        return self.order == [*(self.model_admin.ordering or ())]

    def get_results(self, request: HttpRequest) -> None:
        """Load the rows after the position in the query string.

        Raises:
            IncorrectLookupParameters: the query string has no valid position.
        """
        position = request.GET.get(PAGE_VAR, "")
        is_filtered = bool(self.has_active_filters or remits_of(request))
        self.is_narrowed = self.model_admin.may_match_few and is_filtered
        self.may_read_causes = may(request, Right.VIEW_ERROR_DETAIL)
        page = self.page_after(position, self.list_per_page)
        self.show_rows(page.rows, page.next_position or None, is_first=not position)
        self.searched_to = page.searched_to
        self.is_full = len(page.rows) == self.list_per_page
        self.estimated_rows = None
        if not self.query and not self.has_active_filters:
            self.estimated_rows = _estimated_rows(self.model)
        self.model_admin.complete_rows(request, page.rows, self.query)

    @cached_property
    def search(self) -> Search | None:
        """Search for the term in the search box."""
        is_searched = self.model_admin.time_field and self.search_fields
        if not is_searched:
            return None
        return Search.of(self.model, self.query, with_causes=self.may_read_causes)

    def page_after(self, position: str, count: int) -> ListPage:
        """Return up to `count` rows of the list after a position; an empty position is before the first row.

        A search that takes too long returns fewer rows, and the position at which it ended.

        Raises:
            IncorrectLookupParameters: the position is invalid.
        """
        after = Q()
        if position:
            after = self._after(position)
        # A row without the related row of the order has no place in it.
        rows = self.queryset.filter(**{f"{self._fields[0]}__isnull": False})
        rows = rows.defer(*self.model_admin.large_fields)
        if self.search:
            return self._searched_page(self.search, rows, after, count)
        # One row more tells whether there is a next page.
        found = self._first_rows(rows, after, count + 1)
        if len(found) <= count:
            return ListPage(found)
        return ListPage(found[:count], self.position_of(found[count - 1]))

    def _searched_page(self, search: Search, rows: QuerySet[Model], after: Q, count: int) -> ListPage:
        admin = self.model_admin
        columns = {*self._fields, admin.time_field, *admin.search_columns}
        candidates = self.queryset.values_list(*columns, named=True)

        def next_rows(last: Any, size: int, keys: set[Any] | None) -> list[Any]:
            further = self._after(self.position_of(last)) if last else after
            if keys is None:
                return self._first_rows(candidates, further, size)
            return list(self._by_filters(candidates.filter(further, pk__in=keys))[:size])

        found = search_list(search, next_rows, count)
        shown = list(rows.filter(pk__in=found.texts))
        excerpts = excerpts_of([found.texts[row.pk] for row in shown], search.term)
        for place, row in enumerate(shown):
            row.hit = _mark_hits(excerpts.get(place))  # type: ignore[attr-defined]
        if found.last is None:
            return ListPage(shown)
        position = self.position_of(found.last)
        return ListPage(shown, position, short_time(getattr(found.last, admin.time_field)) or position)

    def _first_rows(self, rows: QuerySet[Any], after: Q, count: int) -> list[Any]:
        """Return the first rows after a position, in time for filters with many and with few matches."""
        within = rows.filter(after)
        if not self.is_narrowed:
            return list(within[:count])
        # PostgreSQL cannot tell whether many or few rows match. In the order of the list it would search the whole
        # table for a few matches; by the indexes of the filters it would sort many. So try the newest rows first,
        # where a common value has enough matches.
        first = self.order[0]
        field = self._fields[0]
        newest = self.model._default_manager.filter(after, **self._filters_in_order)
        values = newest.order_by(first).values_list(field, flat=True)
        for number in RECENT_ROWS:
            oldest = values[number - 1 : number].first()
            if oldest is None:
                break
            found = list(within.filter(**{f"{field}__gte": oldest})[:count])
            if len(found) == count:
                return found
        return list(self._by_filters(within)[:count])

    @property
    def _filters_in_order(self) -> dict[str, str]:
        """Chosen filters with a partial index in the order of the list, which has the newest rows that they match."""
        indexed = self.model_admin.filters_in_order
        return {name: value for name, value in self.params.items() if value in indexed.get(name, ())}

    def _by_filters(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows in the order of the list, without the index of this order: only those of filters are left."""
        name = self._fields[0]
        field = self._field(name)
        nothing = timedelta(0) if isinstance(field, DateTimeField) else 0
        unindexed = ExpressionWrapper(F(name) + nothing, output_field=field)
        return rows.order_by(unindexed.desc() if self.is_descending else unindexed.asc(), *self.order[1:])

    @property
    def _fields(self) -> list[str]:
        return [name.removeprefix("-") for name in self.order]

    def position_of(self, row: Model) -> str:
        """Return the position of a row as text. The next page begins after this position."""
        texts = []
        for name in self._fields:
            *relations, _column = name.split(LOOKUP_SEP)
            owner = reduce(getattr, relations, row)
            texts.append(self._field(name).value_to_string(owner))
        return SEPARATOR.join(texts)

    def _field(self, name: str) -> "Field[Any, Any]":
        """Return a field of the model, or of a related model for a name such as `figures__cost`."""
        *relations, column = name.split(LOOKUP_SEP)
        model = self.model
        for relation in relations:
            model = cast("type[Model]", model._meta.get_field(relation).related_model)
        if column == "pk":
            return model._meta.pk
        return cast("Field[Any, Any]", model._meta.get_field(column))

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
        behind = "lt" if self.is_descending else "gt"
        if not rest:
            return Q(**{f"{first}__{behind}": value})
        ((second, second_value),) = rest
        # The first condition alone would do for the result, but PostgreSQL needs a plain range to read from the
        # index.
        is_behind = Q(**{f"{first}__{behind}": value}) | Q(**{f"{second}__{behind}": second_value})
        return Q(**{f"{first}__{behind}e": value}) & is_behind


class KeysetAdmin(ReadOnlyAdmin):
    """Admin whose list is a `KeysetChangeList`. Only columns with an index of their own may sort it.

    Attributes:
        large_fields: columns to leave out of the query of the list.
        may_match_few: True if filters or remits may match few rows, and their indexes are not in the order of the
            list. The first field of `ordering` must then be a time or a number.
        filters_in_order: by column, the values with a partial index in the order of the list: `{"kind": {"error"}}`
            for an index on the key of events of the kind "error".
        search_columns: further columns that the search needs.
    """

    large_fields: ClassVar[tuple[str, ...]] = ()
    may_match_few = False
    filters_in_order: ClassVar[Mapping[str, Collection[str]]] = {}
    search_columns: ClassVar[tuple[str, ...]] = ()
    change_list_template = "admin/sessions_app/keyset_list.html"
    sortable_by: ClassVar[tuple[str, ...]] = ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if self.time_field:
            return queryset, False  # `KeysetChangeList` searches page by page
        return super().get_search_results(request, queryset, search_term)

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


def _mark_hits(excerpt: str | None) -> SafeString | None:
    """Return the excerpt with its hits in `<mark>`; None without an excerpt."""
    if excerpt is None:
        return None
    return mark_safe(_MARKED_HIT.sub(r"<mark>\1</mark>", escape(excerpt)))  # noqa: S308 (escaped)


def _estimated_rows(model: type[Model]) -> int:
    """Return the number of rows at PostgreSQL's last ANALYZE; -1 before the first ANALYZE."""
    with reading_connection().cursor() as cursor:
        cursor.execute(
            "SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass", [model._meta.db_table]
        )
        (rows,) = cursor.fetchone()
    return int(rows)
