"""Stored events for the audit pages: JSON as text, within bounds, so no event can take down a page.

PostgreSQL stores JSON of any size, and JSON that Python cannot parse (too deep, too many digits). A page loads small
events whole, and only a line of a large event until staff open the event.
"""

import json
from dataclasses import dataclass
from typing import Any, Self

from django.db.models import Case, Expression, F, Func, IntegerField, Q, TextField, Value, When
from django.db.models.functions import Cast, Coalesce, Left

from sessions_app.models import Event
from sessions_app.models.event import EventQuerySet
from sessions_app.rendering.audit_values import TRUNCATE_AT
from sessions_app.secrets.masking import LOOK_AHEAD, mask_json, mask_text

MAX_INLINE_BYTES = 16_384
"""Size of the largest event loaded whole on a page of a hundred events."""
MAX_OPENED_BYTES = 2_000_000
"""Size of the largest event loaded whole when opened. Of a larger event the page shows the beginning."""
LINE_CHARACTERS = 640


@dataclass(frozen=True)
class AuditEvent:
    """Loaded JSON of an event and of the values before it, with secrets masked.

    Attributes:
        text: the JSON of the event or its beginning; None when the event is too large for the page.
        body: the parsed JSON; None unless `is_parsed`.
        line: beginning of the event's text.
        size: bytes in PostgreSQL, compressed.
    """

    text: str | None
    body: Any
    before: Any
    line: str
    size: int
    is_parsed: bool

    @classmethod
    def of(cls, event: Event) -> Self:
        """Return the JSON of an event annotated by `with_stored`.

        Raises:
            ValueError: Python cannot parse the JSON, such as a number of too many digits.
            RecursionError: the JSON is too deep.
        """
        text: str | None = event.stored and mask_json(event.stored)  # type: ignore[attr-defined]
        before: str | None = event.stored_before and mask_json(event.stored_before)  # type: ignore[attr-defined]
        known = {"text": text, "line": mask_text(event.line or ""), "size": event.stored_size}  # type: ignore[attr-defined]
        if text is None or not event.is_whole:  # type: ignore[attr-defined]
            return cls(body=None, before=None, is_parsed=False, **known)
        body = json.loads(text)
        return cls(body=body, before=before and json.loads(before), is_parsed=True, **known)


def with_stored(events: EventQuerySet, opened: int | None = None) -> EventQuerySet:
    """Annotate the events for `AuditEvent.of`.

    Args:
        events: events, of a single session when `opened` is given.
        opened: `seq` of the opened event; None without an opened event.
    """
    # The stored size needs no decompression, so it comes first. A small stored size may still be a long text: then
    # the length decides.
    size = _stored_size("body") + Coalesce(_stored_size("before"), 0)
    is_small = Q(stored_size__lte=MAX_INLINE_BYTES)
    is_opened = Q(seq=opened) if opened is not None else Q(pk__in=())
    # A CASE, because PostgreSQL evaluates the conditions of a WHERE or an AND in any order.
    length = Case(When(is_small | is_opened, then=_length()), default=None, output_field=IntegerField())
    limit = Case(
        When(is_opened, then=MAX_OPENED_BYTES), default=MAX_INLINE_BYTES, output_field=IntegerField()
    )
    whole = events.annotate(
        stored_size=size, line=Left("text", LINE_CHARACTERS), length=length, is_whole=Q(length__lte=limit)
    )
    return whole.annotate(
        stored=Case(
            When(is_whole=True, then=_as_text("body")),
            When(is_opened, then=Left(_as_text("body"), TRUNCATE_AT + LOOK_AHEAD)),
            default=None,
            output_field=TextField(),
        ),
        stored_before=Case(
            When(is_whole=True, then=_as_text("before")), default=None, output_field=TextField()
        ),
    ).defer("body", "before", "text", "hash", "model_call")


def _as_text(column: str) -> Expression:
    return Cast(column, TextField())


def _stored_size(column: str) -> Expression:
    return Func(F(column), function="pg_column_size", output_field=IntegerField())


def _length() -> Expression:
    before = Coalesce(_as_text("before"), Value(""))
    return _bytes_of(_as_text("body")) + _bytes_of(before)


def _bytes_of(text: Expression) -> Expression:
    return Func(text, function="octet_length", output_field=IntegerField())
