"""Conversions between stored rows and runtime objects.

PostgreSQL stores neither NUL nor lone surrogates, and models and tools produce both. Both are replaced by U+FFFD: a
tool that has read a binary file, or a model whose text was cut within a character, must not fail the invocation.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pydantic
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from runtime import types
from runtime.events.event import Event as RuntimeEvent
from runtime.events.reading import read_event
from runtime.valid_text import storable, valid_text
from sessions_app.errors import InvalidInputError, NotFoundError

logger = logging.getLogger(__name__)
UNREADABLE = "This event was written by another version of the site and cannot be shown. It is kept."
FIRST_TIMESTAMP = -62_135_510_400
LAST_TIMESTAMP = 253_402_214_400
"""Bounds of timestamps: Python's calendar without its first and last day, to give each a date in every zone."""
MAX_INTEGER = 2**31 - 1
"""Largest value of PostgreSQL's columns of the type integer."""
MAX_ID = 2**63 - 1
"""Largest value of PostgreSQL's columns of the type bigint."""
# After an even number of backslashes only: after an odd number the backslash before `u0000` is itself escaped.
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def event_to_json(event: RuntimeEvent) -> str:
    """Return the event's JSON in the form of the ADK API: camelCase, without unset fields.

    Raises:
        InvalidInputError: the event's timestamp is outside of the calendar.
    """
    if not FIRST_TIMESTAMP <= event.timestamp <= LAST_TIMESTAMP:
        raise InvalidInputError(
            f"Event {event.id!r} has the timestamp {event.timestamp}, which is not in the years 1 to 9999. "
            "Give seconds since 1970, or leave the timestamp out."
        )
    return _storable_json(event)


@contextmanager
def refusing_deep_values(field: str = "") -> Iterator[None]:
    """Turn the error of a value nested too deeply for JSON into an InvalidInputError."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        message = "A value is nested too deeply to be stored. Use fewer levels."
        raise InvalidInputError(message, field=field) from error


def check_storable(event: RuntimeEvent, field: str = "") -> None:
    """Check that an event can be written as JSON and read back.

    Raises:
        InvalidInputError: the event cannot; the error names `field`.
    """
    with refusing_deep_values(field):
        event_from_json(event_to_json(event))


def event_from_json(body: str) -> RuntimeEvent:
    return read_event(body)


def event_to_show(stored: Any) -> RuntimeEvent:
    """Return a stored event for display; an error event in place of an unreadable event."""
    try:
        return RuntimeEvent.model_validate(stored)
    except pydantic.ValidationError as error:
        fields = stored if isinstance(stored, Mapping) else {}
        logger.warning("Event %s cannot be read: %s", fields.get("id"), error)
        keys = {"id": "id", "author": "author", "invocation_id": "invocationId"}
        readable = {name: str(fields.get(key) or "") for name, key in keys.items()}
        return RuntimeEvent(**readable, error_code="UNREADABLE", error_message=UNREADABLE)


def content_to_json(content: types.Content) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(_storable_json(content))
    return values


def is_storable(text: str) -> bool:
    """Return True if a text column can hold the text: PostgreSQL accepts neither NUL nor lone surrogates."""
    return text == storable(text)


def parse_uuid(text: str) -> UUID | None:
    """Parse a UUID; None for any other text."""
    try:
        return UUID(text)
    except ValueError:
        return None


def json_object(value: object, *path: str) -> dict[str, Any]:
    """Return a JSON object, or the object at a path of its members; an empty object in place of anything else."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def user_pk(user_id: str) -> Any:
    """Return the primary key of a user from the ADK API's `user_id`.

    Raises:
        NotFoundError: the text is no valid primary key.
    """
    try:
        return get_user_model()._meta.pk.to_python(user_id)
    except ValidationError as error:
        raise NotFoundError(
            f"There is no user {user_id!r}: user_id is the primary key of a Django user, as text."
        ) from error


def _storable_json(model: BaseModel) -> str:
    """Return storable JSON, with U+FFFD for NUL and lone surrogates.

    Raises:
        PydanticSerializationError: the JSON could not be read again: a field has a value of another type.
    """
    try:
        text = model.model_dump_json(by_alias=True, exclude_none=True, warnings="error")
    except PydanticSerializationError:  # A lone surrogate. The slower way through `json` accepts it.
        values = model.model_dump(mode="json", by_alias=True, exclude_none=True, warnings="error")
        text = valid_text(json.dumps(values, ensure_ascii=False))
    return _NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text
