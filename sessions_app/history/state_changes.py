"""State changes of events, computed from the log: pure functions without storage (contract S3, S4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runtime.sessions.state import State


class StateScope(StrEnum):
    """Scope of a state key: the session, all sessions of the user, or all sessions of the app."""

    SESSION = "session"
    USER = "user"
    APP = "app"


@dataclass(frozen=True)
class KeyChange:
    """Change of a key by an event.

    Attributes:
        key: the key with its scope prefix.
        before: the value at the commit, written by any session; None for a new key.
    """

    key: str
    scope: StateScope
    is_new: bool
    before: Any
    after: Any

    @property
    def is_same(self) -> bool:
        """True if the event set the key to its old value."""
        return not self.is_new and self.before == self.after


def scope_of(key: str) -> StateScope | None:
    """Return the scope of a key; None for a `temp:` key, which is never stored."""
    if key.startswith(State.APP_PREFIX):
        return StateScope.APP
    if key.startswith(State.USER_PREFIX):
        return StateScope.USER
    if key.startswith(State.TEMP_PREFIX):
        return None
    return StateScope.SESSION


def state_changes(delta: Mapping[str, Any], before: Mapping[str, Any] | None) -> list[KeyChange]:
    """Return an event's changes: its state delta compared with `Event.before`, recorded at the commit."""
    old = before or {}
    changes = []
    for key, after in delta.items():
        scope = scope_of(key)
        if scope is not None:
            changes.append(KeyChange(key, scope, is_new=key not in old, before=old.get(key), after=after))
    return changes
