"""Texts that UTF-8 can hold, and values as texts that a model reads.

A tool that cuts a text within a character, a file name that is no UTF-8, and the JSON of a model may hold half of a
surrogate pair. No request, database or JSON of others takes such a text, so the runtime replaces the half by U+FFFD
where a text enters an event, a request or the state. In the state, and in what a site stores, NUL becomes U+FFFD too:
PostgreSQL accepts neither.
"""

import json
from typing import Any

import pydantic_core


def valid_text(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate. Two surrogates that form a pair become their character."""
    # ASCII, the usual case, has no surrogates: spare the way through UTF-16.
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def valid_values(value: Any) -> Any:
    """Return JSON values with every text, keys included, made a `valid_text`.

    Valid values are returned themselves, and so are values nested too deeply, which no JSON can hold.
    """
    if _is_valid(value):
        return value
    try:
        return _replace_invalid(value)
    except RecursionError:
        return value


def storable(text: str) -> str:
    """Return the text with U+FFFD for every NUL and lone surrogate."""
    return valid_text(text).replace("\0", "\ufffd")


def storable_values(value: Any) -> Any:
    """Return JSON values with every text, keys included, made `storable`."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [storable_values(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): storable_values(item) for key, item in value.items()}
    return value


def json_text(value: object) -> str:
    """Return JSON with plain letters instead of escapes, and `str` of what is not JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def shortened(text: str, max_length: int) -> str:
    """Return the text; the beginning and an ellipsis if it has more than `max_length` characters."""
    if len(text) <= max_length:
        return text
    return f"{text[:max_length]}…"


def _is_valid(value: Any) -> bool:
    # To write large values as JSON takes a tenth of the time in which they are copied.
    try:
        pydantic_core.to_json(value, bytes_mode="base64")
    except pydantic_core.PydanticSerializationError:
        return False
    return True


def _replace_invalid(value: Any) -> Any:
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, dict):
        return {_replace_invalid(key): _replace_invalid(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace_invalid(item) for item in value]
    return value
