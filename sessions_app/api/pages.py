"""Pages of lists, by cursor.

A cursor has the values of the ordering columns in the last row of a page, so rows that are added or deleted between two
requests shift no page. To clients a cursor is an opaque text.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Self, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from ninja import Schema
from ninja.errors import ValidationError as InvalidRequestError
from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError

from sessions_app.base.codec import MAX_ID
from sessions_app.process.threads import in_thread

MAX_ROWS = 100
MAX_CURSOR_LENGTH = 300
Number = Annotated[int, Field(ge=0, le=MAX_ID)]
T = TypeVar("T")
M = TypeVar("M", bound=Model)


class RowSchema(Schema):
    @classmethod
    def from_row(cls, row: Any, **values: Any) -> Self:
        """Return the schema of a row. Fields without a value are the row's attributes of the same name."""
        same = cls.model_fields.keys() - values.keys()
        return cls(**values, **{name: getattr(row, name) for name in same})


class PageQuery(Schema):
    """Part of a list that a client asks for."""

    cursor: str = Field(
        "", max_length=MAX_CURSOR_LENGTH, description="`next` of the page before; empty for the first page."
    )
    limit: int = Field(30, ge=1, le=MAX_ROWS, description="Most items of the page.")


class Page(Schema, Generic[T]):
    """A part of a list. `next` is the cursor of the page that follows, null on the last page."""

    items: list[T]
    next: str | None


@dataclass(frozen=True)
class RowOrder:
    """Order of a list.

    Attributes:
        columns: columns that together identify a row; `-` for descending order.
        values: type of the columns' values, by which cursors are written and read.
    """

    columns: tuple[str, ...]
    values: TypeAdapter[Any]

    def cursor(self, row: Model) -> str:
        values = [getattr(row, column.lstrip("-")) for column in self.columns]
        return urlsafe_b64encode(self.values.dump_json(tuple(values))).decode()

    def following(self, cursor: str) -> Q:
        """Return the filter for the rows after a cursor.

        Raises:
            ninja.errors.ValidationError: the cursor is invalid.
        """
        try:
            values = self.values.validate_json(urlsafe_b64decode(cursor.encode()))
        except (ValidationError, ValueError) as error:
            message = "Send `next` of the page before, or leave the cursor out"
            raise InvalidRequestError([{"loc": ("query", "cursor"), "msg": message}]) from error
        return _after(self.columns, values)


BY_LAST_USE = RowOrder(("-updated_at", "-id"), TypeAdapter(tuple[AwareDatetime, UUID]))
NEWEST_FIRST = RowOrder(("-id",), TypeAdapter(tuple[Number]))
NEWEST_JOB_FIRST = RowOrder(("-created_at", "-id"), TypeAdapter(tuple[AwareDatetime, UUID]))
OLDEST_FIRST = RowOrder(("asked_at", "id"), TypeAdapter(tuple[AwareDatetime, Number]))


async def read_page(
    page: type[Page[T]], rows: QuerySet[M], order: RowOrder, query: PageQuery, schema_of: Callable[[M], T]
) -> Page[T]:
    """Return the page of the rows, read by one query."""
    if query.cursor:
        rows = rows.filter(order.following(query.cursor))
    rows = rows.order_by(*order.columns)[: query.limit + 1]  # one more, to see if another page follows
    return await in_thread(_read, page, rows, order, query.limit, schema_of)


def _read(
    page: type[Page[T]], rows: QuerySet[M], order: RowOrder, limit: int, schema_of: Callable[[M], T]
) -> Page[T]:
    found = list(rows)
    following = order.cursor(found[limit - 1]) if len(found) > limit else None
    return page(items=[schema_of(row) for row in found[:limit]], next=following)


def _after(columns: Sequence[str], values: Sequence[Any]) -> Q:
    """Return the filter for rows after these values."""
    # For two columns: a <= x AND (a < x OR b < y). The first part is redundant, but an index can read it as a range.
    column, *others = columns
    name = column.lstrip("-")
    beyond = "lt" if column.startswith("-") else "gt"
    is_beyond = Q(**{f"{name}__{beyond}": values[0]})
    if not others:
        return is_beyond
    return Q(**{f"{name}__{beyond}e": values[0]}) & (is_beyond | _after(others, values[1:]))
