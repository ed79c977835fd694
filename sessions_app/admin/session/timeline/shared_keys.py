"""Shared keys of the state as of an event. Other sessions set `app:` and `user:` keys, too.

Each event records the replaced values as `before`. So the value of a key after event E is the value replaced by the
first write after E, in any session; without such a write it is the current value:

    writes of app:price     E   ... #7 (before: 10, after: 12) ... #9 (before: 12, after: 15)
    value after E           10

Only writes after E are read, found by a partial index of the events with shared keys. A replay from the beginning would
read all sessions of the app.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from runtime.sessions.state import State
from sessions_app.models import Session
from sessions_app.process.replica import reading_connection

MAX_WRITES = 20_000
"""Largest number of later writes to read, of all sessions together."""


@dataclass(frozen=True)
class SharedKeys:
    """Shared keys at a moment.

    Attributes:
        values: the beginning of each value as JSON, with the length of the whole value.
        left_out: number of keys not loaded.
        is_exact: False with more later writes than `MAX_WRITES`.
    """

    values: dict[str, tuple[str, int]] = field(default_factory=dict)
    left_out: int = 0
    is_exact: bool = True


class _Row(NamedTuple):
    """A shared key; `key_count` and `write_count`, of all keys and of all later writes, are the same in each row."""

    key: str
    value: str
    length: int
    key_count: int
    write_count: int


def load_shared_keys(session: Session, seq: int, most_keys: int, most_characters: int) -> SharedKeys:
    """Return the `app:` and `user:` keys as they were after an event of the session, in one query.

    Args:
        seq: number of the event; 0 for the beginning of the session.
        most_keys: largest number of keys to load.
        most_characters: largest number of characters of each value to load.
    """
    parameters: dict[str, Any] = {
        "session": str(session.pk),
        "seq": seq,
        "app": State.APP_PREFIX,
        "user": State.USER_PREFIX,
        "writes": MAX_WRITES,
        "keys": most_keys,
        "characters": most_characters,
    }
    with reading_connection().cursor() as cursor:
        cursor.execute(_VALUES, parameters)
        rows = [_Row(*row) for row in cursor.fetchall()]
    if not rows:
        return SharedKeys()
    return SharedKeys(
        values={row.key: (row.value, row.length) for row in rows},
        left_out=rows[0].key_count - len(rows),
        is_exact=rows[0].write_count < MAX_WRITES,
    )


# `walked` repeats the condition of the index `event_shared_state` literally: PostgreSQL uses a partial index only if
# the query implies its condition.
_VALUES = """
WITH moment AS (
    SELECT s.app_name, s.user_id, coalesce(
        (SELECT e.id FROM sessions_app_event e WHERE e.session_id = s.id AND e.seq = greatest(%(seq)s, 1))
            - (%(seq)s = 0)::int, 9223372036854775807
    ) AS event_id
    FROM sessions_app_session s WHERE s.id = %(session)s::uuid
), walked AS MATERIALIZED (
    SELECT id, session_id, before, body #> '{actions,stateDelta}' AS delta FROM sessions_app_event
    WHERE (body #>> '{actions,stateDelta}') ~ '"(app|user):' AND id > (SELECT event_id FROM moment)
    ORDER BY id LIMIT %(writes)s
), first_write AS (
    SELECT DISTINCT ON (w.key) w.key, walked.before -> w.key AS value, walked.before ? w.key AS existed
    FROM walked JOIN sessions_app_session s ON s.id = walked.session_id JOIN moment USING (app_name),
        jsonb_object_keys(CASE jsonb_typeof(walked.delta) WHEN 'object' THEN walked.delta END) w(key)
    WHERE starts_with(w.key, %(app)s) OR (starts_with(w.key, %(user)s) AND s.user_id = moment.user_id)
    ORDER BY w.key, walked.id
), live AS (
    SELECT %(app)s || w.key AS key, w.value
    FROM moment JOIN sessions_app_appstate a USING (app_name), jsonb_each(a.state) w
    UNION ALL SELECT %(user)s || w.key, w.value
    FROM moment JOIN sessions_app_userstate u USING (app_name, user_id), jsonb_each(u.state) w
), found AS (
    SELECT live.key, CASE WHEN later.key IS NULL THEN live.value ELSE later.value END AS value
    FROM live LEFT JOIN first_write later USING (key) WHERE later.key IS NULL OR later.existed
)
SELECT key, left(value::text, %(characters)s), length(value::text), count(*) OVER (), (SELECT count(*) FROM walked)
FROM found ORDER BY key COLLATE "C" LIMIT %(keys)s
"""
