"""Split, merge and validate state deltas; shared by all session services (contract S3, S4, S8)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.errors import StateValueError
from runtime.sessions.state import State
from runtime.valid_text import storable, storable_values


@dataclass(frozen=True)
class ScopedState:
    """State or a state delta, split by scope, without prefixes and `temp:` keys."""

    app: dict[str, Any] = field(default_factory=dict)
    user: dict[str, Any] = field(default_factory=dict)
    session: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def split(cls, delta: Mapping[str, Any]) -> "ScopedState":
        """Split a delta by the prefixes of its keys."""
        scoped = cls()
        for key, value in delta.items():
            if key.startswith(State.APP_PREFIX):
                scoped.app[key.removeprefix(State.APP_PREFIX)] = value
            elif key.startswith(State.USER_PREFIX):
                scoped.user[key.removeprefix(State.USER_PREFIX)] = value
            elif not key.startswith(State.TEMP_PREFIX):
                scoped.session[key] = value
        return scoped

    def merged(self) -> dict[str, Any]:
        """Return all scopes as a dict with prefixes, as agents read it."""
        return {
            **self.session,
            **{State.USER_PREFIX + key: value for key, value in self.user.items()},
            **{State.APP_PREFIX + key: value for key, value in self.app.items()},
        }


def without_temp(delta: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in delta.items() if not key.startswith(State.TEMP_PREFIX)}


def as_json(delta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the delta as JSON values: tuples become lists, and keys of nested dicts become strings.

    NUL and half a surrogate pair become U+FFFD, in keys too.

    Raises:
        StateValueError: a value is not JSON. The message names the key (contract S8).
    """
    return {storable(key): _json_value(key, value) for key, value in delta.items()}


def is_plain_json(value: Any) -> bool:
    """Return True if `as_json` returns the value unchanged: scalars, and lists and string-keyed dicts of scalars."""
    if type(value) is list:
        # Copies, because a thread of a tool may change the value.
        return all(map(is_plain_json, value.copy()))
    if type(value) is dict:
        items = value.copy().items()
        return all(type(key) is str and is_plain_json(item) for key, item in items)
    return value is None or type(value) in (str, bool, int, float)


def _json_value(key: str, value: Any) -> Any:
    # Most values are scalars; this saves the round trip through JSON.
    if value is None or isinstance(value, bool | int):
        return value
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=True)
    except (TypeError, ValueError) as error:
        raise StateValueError(
            f"State key {key!r} holds a value that is not JSON ({error}). Store strings, numbers, booleans, None, "
            "lists and dicts of these."
        ) from error
    values = json.loads(text)
    # A cheap search first: NUL and the halves of surrogate pairs are escaped so.
    if "\\u0000" in text or "\\ud" in text:
        return storable_values(values)
    return values
