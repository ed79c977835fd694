"""What events did to the state, told from what the log keeps: pure questions, no storage (spec S3, S4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runtime.sessions.deltas import ScopedState
from runtime.sessions.state import State


class Scope(StrEnum):
    """Who shares a key of the state."""

    SESSION = "session"
    USER = "user"
    APP = "app"


@dataclass(frozen=True)
class StateChange:
    """What one event did to one key.

    Attributes:
        key: with its prefix.
        before: what the key held when the event was committed, whoever wrote it; None when it was new.
    """

    key: str
    scope: Scope
    is_new: bool
    before: Any
    after: Any

    @property
    def is_same(self) -> bool:
        """Whether the key was set to what it held."""
        return not self.is_new and self.before == self.after


@dataclass(frozen=True)
class SharedWrite:
    """What a session wrote last into a key that other sessions may write, too."""

    key: str
    scope: Scope
    value: Any
    seq: int


def scope_of(key: str) -> Scope | None:
    """Whose key it is; None for `temp:`, which is never stored."""
    if key.startswith(State.APP_PREFIX):
        return Scope.APP
    if key.startswith(State.USER_PREFIX):
        return Scope.USER
    return None if key.startswith(State.TEMP_PREFIX) else Scope.SESSION


def state_changes(delta: Mapping[str, Any], before: Mapping[str, Any] | None) -> list[StateChange]:
    """What an event changed: its state delta beside what `Event.before` recorded at its commit."""
    known = before or {}
    return [
        StateChange(key, scope, is_new=key not in known, before=known.get(key), after=after)
        for key, after in delta.items()
        if (scope := scope_of(key)) is not None
    ]


def replay(initial_state: Mapping[str, Any], deltas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The session's own state after these deltas, oldest first. Keys of the user and the app are left out."""
    state = dict(initial_state)
    for delta in deltas:
        state.update(ScopedState.split(delta).session)
    return state


def shared_writes(deltas: Iterable[tuple[int, Mapping[str, Any]]]) -> list[SharedWrite]:
    """The `app:` and `user:` keys that these (seq, delta) have set, oldest first, each as set last."""
    writes: dict[str, SharedWrite] = {}
    for seq, delta in deltas:
        for key, value in delta.items():
            scope = scope_of(key)
            if scope in (Scope.APP, Scope.USER):
                writes[key] = SharedWrite(key, scope, value, seq)
    return [writes[key] for key in sorted(writes)]
