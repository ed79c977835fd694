"""State: a session's key-value data as code of an invocation sees it (spec S4, S5, S6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, ClassVar


class State(MutableMapping[str, Any]):
    """A live value and the delta of what was written through this object.

    Writes go to both, so that later code of the same invocation reads them at once. A list or dict that was read
    and then changed in place counts as written (see `note_changes`). Keys carry their scope as a prefix. Calls of one
    step and parallel agents share the live value, each through a `State` of its own, some of them in threads.
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
        if isinstance(value, dict | list):
            known, _ = self._handed_out.get(key, (None, None))
            if known is not value:
                self._handed_out[key] = (value, _copy(value))
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        self._value[key] = value
        self._delta[key] = value
        self._handed_out.pop(key, None)

    def __delitem__(self, key: str) -> None:
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
        """Whether anything was written."""
        self.note_changes()
        return bool(self._delta)

    def note_changes(self) -> None:
        """Record what was changed in place since it was read, whoever changed it.

        Only what the state still holds: an object that somebody replaced meanwhile is the state's no more, and
        recording it would undo what they wrote.
        """
        for key, (value, before) in self._handed_out.items():
            current = self._delta[key] if key in self._delta else self._value.get(key)
            if value is current and value != before:
                self._value[key] = self._delta[key] = value
                self._handed_out[key] = (value, _copy(value))

    def to_dict(self) -> dict[str, Any]:
        """The merged view as a new dict."""
        return {**self._value, **self._delta}

    def update(self, delta: Mapping[str, Any] | Any = (), /, **kwargs: Any) -> None:
        """Write several keys."""
        super().update(delta, **kwargs)


def _copy(value: Any) -> Any:
    """The lists and dicts in a value, copied each at once: a thread may be changing them, which ends an iteration."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.copy().items()}
    if isinstance(value, list):
        return [_copy(item) for item in value.copy()]
    if isinstance(value, tuple):
        return tuple(_copy(item) for item in value)
    return value
