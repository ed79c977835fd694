"""Row <-> runtime object: the only place that knows both."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError

from runtime import types
from runtime.events.event import Event
from sessions_app.errors import NotFoundError

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def event_to_json(event: Event) -> str:
    """The event as the ADK API gives it: camelCase, without what is unset.

    PostgreSQL's JSON cannot hold the character NUL: it becomes U+FFFD, so that a tool that read a binary file does
    not lose the turn.
    """
    text = event.model_dump_json(by_alias=True, exclude_none=True)
    return _NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text


def event_from_json(body: str) -> Event:
    """The event that was stored."""
    return Event.model_validate_json(body)


def content_to_json(content: types.Content) -> dict[str, Any]:
    """A content as JSON values."""
    return content.model_dump(mode="json", by_alias=True, exclude_none=True)


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
