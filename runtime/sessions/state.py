"""State: a session's key-value data as seen by the code of an invocation (contract S4, S5, S6).

Each callback and each tool call has its own `State` with its own delta, which becomes the delta of an event. All of
them share a dict with the live state, so code sees the writes of earlier code before they are committed. Some tools
run in threads, so nothing here may assume that a value stays the same during an iteration.

All session services split, merge and validate deltas by the functions below (contract S3, S8).
"""

import json
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from runtime.errors import AdkError, StateValueError
from runtime.valid_text import storable, storable_values


class StateSchemaError(AdkError, TypeError):
    """A node writes a key of the state that the `state_schema` does not have, or a value that does not fit."""


GROUNDING_KEY = "temp:_adk_grounding_metadata"
"""Key of the sources that a tool found for the next response of the model."""


class State(MutableMapping[str, Any]):
    """Dict-like view of the live state that collects the written keys in a delta.

    A list or dict that was read and then changed in place counts as written (see `note_changes`). Keys carry their
    scope as a prefix.
    """

    APP_PREFIX: ClassVar[str] = "app:"
    USER_PREFIX: ClassVar[str] = "user:"
    TEMP_PREFIX: ClassVar[str] = "temp:"

    def __init__(self, value: dict[str, Any], delta: dict[str, Any]) -> None:
        self._value = value
        self._delta = delta
        self._handed_out: dict[str, tuple[Any, Any]] = {}

    def __getitem__(self, key: str) -> Any:
        value = self._delta[key] if key in self._delta else self._value[key]
        # Keep a copy of the value: `note_changes` finds a change in place by comparison. A second read of the same
        # object keeps the first copy, otherwise it would hide an earlier change.
        if isinstance(value, dict | list):
            handed_out, _ = self._handed_out.get(key, (None, None))
            if handed_out is not value:
                self._handed_out[key] = (value, _copy(value))
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        self._value[key] = value
        self._delta[key] = value
        self._handed_out.pop(key, None)

    def __delitem__(self, key: str) -> None:
        # A delta cannot express a deletion: it is merged into the stored state.
        raise TypeError(
            f"State key {key!r} cannot be deleted: events only add and replace. Set it to None instead."
        )

    def __contains__(self, key: object) -> bool:
        return key in self._delta or key in self._value

    def __iter__(self) -> Iterator[str]:
        return iter({**self._value, **self._delta})

    def __len__(self) -> int:
        return len({**self._value, **self._delta})

    def __repr__(self) -> str:
        return f"State({self.to_dict()!r})"

    def has_delta(self) -> bool:
        """Return True if any key was written or changed in place."""
        self.note_changes()
        return bool(self._delta)

    def note_changes(self) -> None:
        """Record in the delta every list or dict that was changed in place since it was read."""
        for key, (value, before) in self._handed_out.items():
            current = self._delta[key] if key in self._delta else self._value.get(key)
            # An object that has been replaced in the state is ignored: recording it would undo the newer write.
            if value is current and value != before:
                self._value[key] = self._delta[key] = value
                self._handed_out[key] = (value, _copy(value))

    def to_dict(self) -> dict[str, Any]:
        """Return all keys as a new dict."""
        return {**self._value, **self._delta}

    def update(self, delta: Mapping[str, Any] | Any = (), /, **kwargs: Any) -> None:
        """Write several keys."""
        super().update(delta, **kwargs)


def _copy(value: Any) -> Any:
    """Copy nested lists and dicts."""
    # Each container is copied before iteration, because a thread may be changing it.
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.copy().items()}
    if isinstance(value, list):
        return [_copy(item) for item in value.copy()]
    if isinstance(value, tuple):
        return tuple(_copy(item) for item in value)
    return value


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
