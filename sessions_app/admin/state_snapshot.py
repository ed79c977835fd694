"""State of a session as of one of its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sessions_app.history.state_changes import SharedWrite, replay, shared_writes
from sessions_app.models import Session
from sessions_app.rendering.audit_values import format_json, truncate


@dataclass(frozen=True)
class StateLine:
    """A key and its value; `changed` when the event of the snapshot set it."""

    key: str
    value: str
    changed: bool


@dataclass(frozen=True)
class StateSnapshot:
    """State after event `seq`; 0 is the initial state of the session.

    Attributes:
        shared: App and user state keys that events of this session have set so far.
        equals_live: At the last event, True when the replay equals the stored state; None at earlier events.
    """

    seq: int
    previous: int | None
    next: int | None
    lines: list[StateLine]
    shared: list[SharedWrite]
    equals_live: bool | None


def load_state_snapshot(session: Session, seq: int) -> StateSnapshot:
    """Replay the state deltas of the session up to `seq`."""
    deltas = _load_deltas(session, seq)
    state = replay(session.initial_state, (delta for _, delta in deltas))
    delta_at_seq = deltas[-1][1] if deltas and deltas[-1][0] == seq else {}
    is_last = seq == session.last_seq
    return StateSnapshot(
        seq=seq,
        previous=seq - 1 if seq > 0 else None,
        next=None if is_last else seq + 1,
        lines=[
            StateLine(key, truncate(format_json(state[key])), key in delta_at_seq) for key in sorted(state)
        ],
        shared=shared_writes(deltas),
        equals_live=state == session.state if is_last else None,
    )


def _load_deltas(session: Session, seq: int) -> list[tuple[int, dict[str, Any]]]:
    with_delta = session.events.filter(seq__lte=seq, body__actions__stateDelta__isnull=False)
    found = with_delta.exclude(body__actions__stateDelta={}).order_by("seq")
    rows = found.values_list("seq", "body__actions__stateDelta")
    return [(number, delta) for number, delta in rows if isinstance(delta, dict)]
