"""State of a session as of one of its events, replayed by PostgreSQL: values may be large or too deep to parse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection

from runtime.sessions.state import State
from sessions_app.history.state_changes import Scope, scope_of
from sessions_app.models import Session
from sessions_app.rendering.audit_values import format_beginning

MOST_KEYS = 400
MOST_CHARACTERS = 4_000
"""Characters of one value that are loaded."""


@dataclass(frozen=True)
class StateLine:
    """A key with its scope, the value as JSON, and the event that set it; 0 is the beginning."""

    key: str
    scope: Scope
    value: str
    seq: int


@dataclass(frozen=True)
class StateSnapshot:
    """State after event `seq`; 0 is the initial state of the session.

    Attributes:
        lines: The session's own keys.
        shared: App and user state keys that events of this session have set so far.
        left_out: Number of keys that are not shown.
        equals_live: At the last event, True when the replay equals the stored state; None at earlier events.
    """

    seq: int
    previous: int | None
    next: int | None
    lines: list[StateLine]
    shared: list[StateLine]
    left_out: int
    equals_live: bool | None


def load_state_snapshot(session: Session, seq: int) -> StateSnapshot:
    """Replay the state deltas of the session up to `seq`, in one query."""
    parameters: dict[str, Any] = {
        "session": session.pk,
        "seq": seq,
        "keys": MOST_KEYS,
        "characters": MOST_CHARACTERS,
        "shared": f"^({State.APP_PREFIX}|{State.USER_PREFIX})",
        "unstored": State.TEMP_PREFIX,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REPLAY, parameters)
        rows = cursor.fetchall()
    # All keys of the initial state are the session's own.
    lines = [
        StateLine(key, (written and scope_of(key)) or Scope.SESSION, format_beginning(value, length), written)
        for key, written, value, length, _, _ in rows
        if key is not None
    ]
    is_last = seq == session.last_seq
    return StateSnapshot(
        seq=seq,
        previous=seq - 1 if seq > 0 else None,
        next=None if is_last else seq + 1,
        lines=[line for line in lines if line.scope is Scope.SESSION],
        shared=[line for line in lines if line.scope is not Scope.SESSION],
        left_out=rows[0][4] - len(lines),
        equals_live=rows[0][5] if is_last else None,
    )


# One row at least, with nulls for a key, when the state is empty.
_REPLAY = """
WITH delta AS MATERIALIZED (
    SELECT seq, body #> '{actions,stateDelta}' AS value FROM sessions_app_event
    WHERE session_id = %(session)s AND seq <= %(seq)s
), write AS (
    SELECT 0 AS seq, w.key, w.value FROM sessions_app_session s, jsonb_each(s.initial_state) w
    WHERE s.id = %(session)s
    UNION ALL
    SELECT delta.seq, w.key, w.value FROM delta, jsonb_each(
        CASE jsonb_typeof(delta.value) WHEN 'object' THEN delta.value END
    ) w
    WHERE NOT starts_with(w.key, %(unstored)s)
), last_write AS MATERIALIZED (
    SELECT DISTINCT ON (key) key, seq, value FROM write ORDER BY key, seq DESC
), compared AS (
    SELECT count(w.key) AS keys, s.state = coalesce(
        jsonb_object_agg(w.key, w.value) FILTER (WHERE w.seq = 0 OR w.key !~ %(shared)s), '{}'
    ) AS equals
    FROM sessions_app_session s LEFT JOIN last_write w ON true WHERE s.id = %(session)s GROUP BY s.id
), shown AS (
    SELECT * FROM last_write ORDER BY key COLLATE "C" LIMIT %(keys)s
)
SELECT shown.key, shown.seq, left(shown.value::text, %(characters)s), length(shown.value::text), keys, equals
FROM compared LEFT JOIN shown ON true ORDER BY shown.key COLLATE "C"
"""
