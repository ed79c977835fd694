"""State: a session's key-value data as seen by the code of an invocation (contract S4, S5, S6).

Each callback and each tool call has its own `State` with its own delta, which becomes the delta of an event. All of
them share a dict with the live state, so code sees the writes of earlier code before they are committed. Some tools
run in threads, so nothing here may assume that a value stays the same during an iteration.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, ClassVar

from runtime.errors import AdkError


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
