"""State of a session as of one of its events, replayed by PostgreSQL.

Not in Python: values may be large, or too deep to parse. At the last event the replay must equal the stored state, and
the page says whether it does.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from runtime.sessions.state import State
from sessions_app.admin.session.timeline.shared_keys import SharedKeys, load_shared_keys
from sessions_app.history.state_changes import StateScope, scope_of
from sessions_app.models import Event, Session
from sessions_app.process.replica import reading_connection
from sessions_app.rendering.audit_values import format_member

MAX_KEYS = 400
MAX_CHARACTERS = 4_000
"""Largest number of characters of a value to load."""


@dataclass(frozen=True)
class StateLine:
    """A key with its scope, the value as JSON, and the event of its last write.

    Attributes:
        seq: number of the event; 0 for the initial state, None for an unknown event or an event of another session.
    """

    key: str
    scope: StateScope
    value: str
    seq: int | None


@dataclass(frozen=True)
class StateSnapshot:
    """State after event `seq`, or the current state.

    Attributes:
        seq: 0 is the initial state of the session, None the current state.
        lines: the keys, ordered by scope and name.
        left_out: number of keys not shown.
        equals_live: at the last event, True if the replay equals the stored state; None at earlier events.
        is_exact: False when shared keys may have later values: see `shared_keys`.
        previous_change: the nearest event before `seq` with a state delta; None without such an event.
        next_change: the nearest event after `seq` with a state delta; None without such an event.
    """

    seq: int | None
    last_seq: int
    lines: list[StateLine]
    left_out: int
    equals_live: bool | None
    is_exact: bool
    previous_change: int | None
    next_change: int | None

    @property
    def previous(self) -> int | None:
        """The event before `seq`; None at the beginning."""
        if self.seq is None:
            return self.last_seq
        if self.seq == 0:
            return None
        return self.seq - 1

    @property
    def next(self) -> int | None:
        """The event after `seq`; None at the last event."""
        if self.seq is None or self.seq >= self.last_seq:
            return None
        return self.seq + 1


def load_state_snapshot(session: Session, seq: int | None) -> StateSnapshot:
    """Return the state of the session after an event, by a replay of its log; the current state without a `seq`."""
    if seq is None:
        rows = _fetch(_CURRENT, session, seq)
        shared = SharedKeys()
    else:
        rows = _fetch(_REPLAY, session, seq)
        shared = load_shared_keys(session, seq, MAX_KEYS, MAX_CHARACTERS)
    lines: dict[str, StateLine] = {}
    for row in rows:
        if row.key is not None:
            lines[row.key] = _line(row.key, row.value, row.length, row.seq)
    left_out = rows[0].key_count - len(lines) if rows else 0
    for key, (value, length) in shared.values.items():
        own = lines.get(key)
        line = _line(key, value, length, None)
        # The shared value wins if another session wrote later; the same value keeps the line with the number of the
        # event.
        if own is None or (own.scope is not StateScope.SESSION and own.value != line.value):
            lines[key] = line
    changes = Event.objects.filter(session=session).with_state_delta()
    here = session.last_seq + 1
    if seq is not None:
        here = seq
    return StateSnapshot(
        seq=seq,
        last_seq=session.last_seq,
        lines=sorted(lines.values(), key=lambda line: (list(StateScope).index(line.scope), line.key)),
        left_out=left_out + shared.left_out,
        equals_live=rows[0].equals_live if seq == session.last_seq else None,
        is_exact=shared.is_exact,
        previous_change=changes.filter(seq__lt=here).order_by("-seq").values_list("seq", flat=True).first(),
        next_change=changes.filter(seq__gt=here).order_by("seq").values_list("seq", flat=True).first(),
    )


def _line(key: str, value: str, length: int, written: int | None) -> StateLine:
    # All keys of the initial state are the session's own.
    scope = StateScope.SESSION if written == 0 else scope_of(key) or StateScope.SESSION
    return StateLine(key, scope, format_member(key, value, length), written)


class _Row(NamedTuple):
    """A key of the state, or nulls for an empty state.

    Attributes:
        seq: number of the event that wrote the key.
        value: beginning of the value as JSON.
        length: number of characters of the whole value.
        key_count: number of keys of the state, the same in each row.
        equals_live: True if the replayed state equals the stored state, the same in each row; None without a replay.
    """

    key: str | None
    seq: int | None
    value: str
    length: int
    key_count: int
    equals_live: bool | None


def _fetch(statement: str, session: Session, seq: int | None) -> list[_Row]:
    parameters: dict[str, Any] = {
        "session": session.pk,
        "seq": seq,
        "keys": MAX_KEYS,
        "characters": MAX_CHARACTERS,
        "app": State.APP_PREFIX,
        "user": State.USER_PREFIX,
        "shared": f"^({State.APP_PREFIX}|{State.USER_PREFIX})",
        "unstored": State.TEMP_PREFIX,
    }
    with reading_connection().cursor() as cursor:
        cursor.execute(statement, parameters)
        return [_Row(*row) for row in cursor.fetchall()]


_CURRENT = """
WITH scope AS (
    SELECT '' AS prefix, s.state FROM sessions_app_session s WHERE s.id = %(session)s
    UNION ALL SELECT %(user)s, u.state FROM sessions_app_session s
        JOIN sessions_app_userstate u ON u.app_name = s.app_name AND u.user_id = s.user_id WHERE s.id = %(session)s
    UNION ALL SELECT %(app)s, a.state FROM sessions_app_session s
        JOIN sessions_app_appstate a ON a.app_name = s.app_name WHERE s.id = %(session)s
)
SELECT prefix || w.key AS key, CASE prefix WHEN '' THEN 0 END, left(w.value::text, %(characters)s),
    length(w.value::text), count(*) OVER (), NULL
FROM scope, jsonb_each(scope.state) w ORDER BY prefix, key COLLATE "C" LIMIT %(keys)s
"""

# With an empty state the result is one row with nulls in place of a key, for the comparison with the stored state.
# The stored state of a session has no shared keys, except those in its initial state.
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
