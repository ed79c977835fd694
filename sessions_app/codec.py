"""Row <-> runtime object: the only place that knows both."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import Any

import pydantic
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from runtime import types
from runtime.events.event import Event
from sessions_app.errors import NotFoundError

logger = logging.getLogger(__name__)
UNREADABLE = "This was written by another version of the site, which this one cannot show. It is kept."
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def event_to_json(event: Event) -> str:
    """The event as the ADK API gives it: camelCase, without what is unset."""
    return _storable_json(event)


def event_from_json(body: str) -> Event:
    """The event that was stored."""
    return Event.model_validate_json(body)


def event_to_show(stored: Mapping[str, Any]) -> Event:
    """The stored event for a page; what this version of the site cannot read is replaced by one that says so."""
    try:
        return Event.model_validate(stored)
    except pydantic.ValidationError as error:
        logger.warning("Event %s cannot be read: %s", stored.get("id"), error)
        names = {"id": "id", "author": "author", "invocation_id": "invocationId"}
        known = {name: str(stored.get(key) or "") for name, key in names.items()}
        return Event(**known, error_code="UNREADABLE", error_message=UNREADABLE)


def content_to_json(content: types.Content) -> dict[str, Any]:
    """A content as JSON values."""
    values: dict[str, Any] = json.loads(_storable_json(content))
    return values


def is_storable(text: str) -> bool:
    """Whether a text column can hold it: PostgreSQL has neither NUL nor half a surrogate pair."""
    return text == storable(text)


def storable(text: str) -> str:
    """As a text column can hold it: what it cannot becomes U+FFFD."""
    return _with_whole_characters(text).replace("\0", "\ufffd")


def storable_values(value: Any) -> Any:
    """JSON values with every text in them, keys too, as a jsonb column can hold it."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [storable_values(one) for one in value]
    if isinstance(value, dict):
        return {storable(key): storable_values(one) for key, one in value.items()}
    return value


def user_pk(user_id: str) -> Any:
    """The primary key of a user from the ADK API's text.

    Raises:
        NotFoundError: it cannot be one.
    """
    try:
        return get_user_model()._meta.pk.to_python(user_id)
    except ValidationError as error:
        raise NotFoundError(
            f"User {user_id!r} is not known: user_id is the primary key of a Django user, as text."
        ) from error


def _storable_json(model: BaseModel) -> str:
    """As JSON that PostgreSQL can hold: NUL and half a surrogate pair become U+FFFD.

    So a tool that read a binary file, or a model that was cut off within a character, does not lose the turn.
    """
    try:
        text = model.model_dump_json(by_alias=True, exclude_none=True)
    except PydanticSerializationError:
        values = model.model_dump(mode="json", by_alias=True, exclude_none=True)
        text = _with_whole_characters(json.dumps(values, ensure_ascii=False))
    return _NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text


def _with_whole_characters(text: str) -> str:
    """With U+FFFD for each half of a surrogate pair that stands alone."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
