"""The state of a session as it was after one of its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sessions_app.admin.formatting import pretty, shown
from sessions_app.history.state_changes import SharedWrite, replay, shared_writes
from sessions_app.models import Session


@dataclass(frozen=True)
class StateLine:
    """A key as it was; `changed` when this very event set it."""

    key: str
    value: str
    changed: bool


@dataclass(frozen=True)
class StateAt:
    """The state after event `seq`; 0 is the state that the session began with.

    Attributes:
        shared: what the session's events had set by then in the state of the app and the user.
        equals_live: at the last event, whether the replay gives the state that is kept; else None.
    """

    seq: int
    previous: int | None
    next: int | None
    lines: list[StateLine]
    shared: list[SharedWrite]
    equals_live: bool | None


def state_at(session: Session, seq: int) -> StateAt:
    """Replay the session up to `seq`."""
    deltas = _deltas(session, seq)
    state = replay(session.initial_state, (delta for _, delta in deltas))
    just_set = deltas[-1][1] if deltas and deltas[-1][0] == seq else {}
    is_last = seq == session.last_seq
    return StateAt(
        seq=seq,
        previous=seq - 1 if seq > 0 else None,
        next=None if is_last else seq + 1,
        lines=[StateLine(key, shown(pretty(state[key])), key in just_set) for key in sorted(state)],
        shared=shared_writes(deltas),
        equals_live=state == session.state if is_last else None,
    )


def _deltas(session: Session, seq: int) -> list[tuple[int, dict[str, Any]]]:
    changing = session.events.filter(seq__lte=seq, body__actions__stateDelta__isnull=False)
    return list(
        changing.exclude(body__actions__stateDelta={})
        .order_by("seq")
        .values_list("seq", "body__actions__stateDelta")
    )
