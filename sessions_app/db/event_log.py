"""The log of a session: append an event, read what is there or new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from runtime.events.summaries import WHOLE
from runtime.sessions.deltas import ScopedState
from sessions_app.db.pool import fetch_all, fetch_one

SessionKey = tuple[str, Any, str]
"""app_name, primary key of the user, session key."""


@dataclass(frozen=True)
class Append:
    """One event to commit.

    Attributes:
        body: the event's JSON.
        speaks: whether it has content, or rewinds; only the holder of the lease may do so while there is a lease.
        timestamp: seconds since the epoch.
        lease_token: of the writer's lease; None when it has none.
        jobs: rows of `tool_job` to create with it, as JSON objects.
    """

    key: SessionKey
    body: str
    speaks: bool
    timestamp: float
    lease_token: int | None
    delta: ScopedState
    jobs: Sequence[dict[str, Any]] = field(default=())


@dataclass(frozen=True)
class Committed:
    """Where an event came to stand."""

    session_id: UUID
    seq: int


async def append(event: Append) -> Committed | None:
    """Add the event row, the three scopes of state and the jobs, if the writer may. None when nothing was written."""
    app_name, user_id, key = event.key
    delta = event.delta
    params = {
        "app": app_name,
        "user": user_id,
        "key": key,
        "token": event.lease_token,
        "speaks": event.speaks,
        "at": event.timestamp,
        "body": event.body,
        "session_delta": Jsonb(delta.session),
        "user_delta": Jsonb(delta.user),
        "app_delta": Jsonb(delta.app),
        "jobs": Jsonb(list(event.jobs)),
    }
    changes_state = bool(delta.session or delta.user or delta.app)
    row = await fetch_one(_append_statement(changes_state, bool(event.jobs)), params)
    return Committed(*row) if row else None


@lru_cache(maxsize=4)
def _append_statement(changes_state: bool, makes_jobs: bool) -> str:
    """The one statement of an append, with only the parts that the event needs."""
    if changes_state:
        parts = [_BODY, _LOCK_SESSION, _NEXT_SEQ_AND_STATE, _USER_STATE, _APP_STATE]
    else:
        parts = [_BODY, _NEXT_SEQ]
    if makes_jobs:
        parts.append(_JOBS)
    insert = _INSERT_EVENT_WITH_BEFORE if changes_state else _INSERT_EVENT
    return f"WITH {', '.join(parts)} {insert}"


_MAY_WRITE = """
    app_name = %(app)s AND user_id = %(user)s AND key = %(key)s AND CASE
        WHEN %(token)s::bigint IS NOT NULL THEN lease_token = %(token)s::bigint AND lease_owner <> ''
        ELSE NOT %(speaks)s::boolean OR lease_owner = '' OR lease_expires_at < now()
    END"""

# Materialized, so that PostgreSQL parses the JSON once.
_BODY = "given AS MATERIALIZED (SELECT %(body)s::jsonb AS body)"

_NEXT_SEQ = f"""
s AS (
    UPDATE sessions_app_session AS t
    SET last_seq = last_seq + 1, updated_at = to_timestamp(%(at)s::float8),
        log_hash = adk_chain(t.log_hash, t.id, t.last_seq + 1, given.body)
    FROM given WHERE {_MAY_WRITE}
    RETURNING t.id, t.last_seq, t.log_hash, given.body
)"""  # noqa: S608

_LOCK_SESSION = f"""
old AS (SELECT id, state FROM sessions_app_session WHERE {_MAY_WRITE} FOR UPDATE)"""  # noqa: S608

_NEXT_SEQ_AND_STATE = """
s AS (
    UPDATE sessions_app_session AS t
    SET last_seq = last_seq + 1, updated_at = to_timestamp(%(at)s::float8), state = t.state || %(session_delta)s,
        log_hash = adk_chain(t.log_hash, t.id, t.last_seq + 1, given.body)
    FROM old, given WHERE t.id = old.id
    RETURNING t.id, t.last_seq, t.log_hash, given.body, old.state AS before
)"""

# The user's state is locked and written before the app's, also when its row is new: all who write both do it so.
_USER_STATE = """
old_user AS (
    SELECT state FROM sessions_app_userstate
    WHERE app_name = %(app)s AND user_id = %(user)s AND %(user_delta)s <> '{}' FOR UPDATE
), user_state AS (
    INSERT INTO sessions_app_userstate AS t (app_name, user_id, state)
    SELECT %(app)s, %(user)s, %(user_delta)s FROM s LEFT JOIN old_user ON true WHERE %(user_delta)s <> '{}'
    ON CONFLICT (app_name, user_id) DO UPDATE SET state = t.state || EXCLUDED.state
    RETURNING t.id
)"""

_APP_STATE = """
old_app AS (
    SELECT state FROM sessions_app_appstate
    WHERE app_name = %(app)s AND %(app_delta)s <> '{}' AND (SELECT count(*) FROM user_state) >= 0 FOR UPDATE
), app_state AS (
    INSERT INTO sessions_app_appstate AS t (app_name, state)
    SELECT %(app)s, %(app_delta)s FROM s WHERE %(app_delta)s <> '{}'
    ON CONFLICT (app_name) DO UPDATE SET state = t.state || EXCLUDED.state
)"""

_BEFORE = """
    adk_before(%(session_delta)s, s.before, '')
    || adk_before(%(user_delta)s, coalesce((SELECT state FROM old_user), '{}'), 'user:')
    || adk_before(%(app_delta)s, coalesce((SELECT state FROM old_app), '{}'), 'app:')"""

_JOBS = """
jobs AS (
    INSERT INTO sessions_app_tooljob (
        id, session_id, invocation_id, call_id, tool_name, task_name, agent_name, args, run_at)
    SELECT j.id, s.id, j.invocation_id, j.call_id, j.tool_name, j.task_name, j.agent_name, j.args, j.run_at
    FROM s, jsonb_to_recordset(%(jobs)s) AS j(
        id uuid, invocation_id text, call_id text, tool_name text, task_name text, agent_name text, args jsonb,
        run_at timestamptz)
    ON CONFLICT (session_id, call_id) DO NOTHING
)"""

_INSERT_EVENT = """
INSERT INTO sessions_app_event (session_id, seq, body, hash)
SELECT s.id, s.last_seq, s.body, s.log_hash FROM s
RETURNING session_id, seq"""

# OFFSET 0 keeps PostgreSQL from computing `before` once more for the hash.
_INSERT_EVENT_WITH_BEFORE = f"""
INSERT INTO sessions_app_event (session_id, seq, body, before, hash)
SELECT s.id, s.last_seq, s.body, b.before, adk_event_hash(s.log_hash, b.before)
FROM s, LATERAL (SELECT {_BEFORE} AS before OFFSET 0) b
RETURNING session_id, seq"""  # noqa: S608


@dataclass(frozen=True)
class Loaded:
    """A session's row, its state in three scopes, and some of its events as JSON, oldest first."""

    session_id: UUID
    last_seq: int
    updated_at: float
    state: ScopedState
    events: list[str]


async def load(
    key: SessionKey,
    *,
    after: int = 0,
    recent: int | None = None,
    since: float | None = None,
    without_summed_up: bool = False,
) -> Loaded | None:
    """A session with the events after a `seq`, of the last `recent` ones, since a time (inclusive).

    With `without_summed_up` those from the last one on that the latest whole summary stands for (spec R4), whatever
    became of the summary later.
    """
    app_name, user_id, session_key = key
    params = {
        "app": app_name,
        "user": user_id,
        "key": session_key,
        "after": after,
        "recent": recent,
        "since": since,
    }
    row = await fetch_one(_LOAD_WITHOUT_SUMMED_UP if without_summed_up else _LOAD, params)
    if row is None:
        return None
    session_id, last_seq, updated_at, session_state, user_state, app_state, events = row
    scoped = ScopedState(app=app_state, user=user_state, session=session_state)
    return Loaded(session_id, last_seq, updated_at, scoped, events)


def _load_statement(after: str) -> str:
    return f"""
SELECT s.id, s.last_seq, extract(epoch FROM s.updated_at)::float8, s.state,
    coalesce(u.state, '{{}}'), coalesce(a.state, '{{}}'),
    (
        SELECT coalesce(array_agg(e.body::text ORDER BY e.seq), '{{}}') FROM sessions_app_event e
        WHERE e.session_id = s.id
            AND e.seq > greatest({after}, s.last_seq - %(recent)s::bigint)
            AND (%(since)s::float8 IS NULL OR (e.body ->> 'timestamp')::float8 >= %(since)s::float8)
    )
FROM sessions_app_session s
LEFT JOIN sessions_app_userstate u ON u.app_name = s.app_name AND u.user_id = s.user_id
LEFT JOIN sessions_app_appstate a ON a.app_name = s.app_name
WHERE s.app_name = %(app)s AND s.user_id = %(user)s AND s.key = %(key)s"""  # noqa: S608


# Both are found from the end of the log backwards; the summary's end is the timestamp of its last event.
_SUMMED_UP = f"""
coalesce((
    SELECT last.seq - 1 FROM (
        SELECT c.seq, (c.body #>> '{{actions,compaction,endTimestamp}}')::float8 AS ends
        FROM sessions_app_event c
        WHERE c.session_id = s.id AND c.body -> 'customMetadata' ? '{WHOLE}'
        ORDER BY c.seq DESC LIMIT 1
    ) summary, LATERAL (
        SELECT l.seq FROM sessions_app_event l
        WHERE l.session_id = s.id AND l.seq < summary.seq AND (l.body ->> 'timestamp')::float8 = summary.ends
        ORDER BY l.seq DESC LIMIT 1
    ) last
), 0)"""  # noqa: S608

_LOAD = _load_statement("%(after)s::bigint")
_LOAD_WITHOUT_SUMMED_UP = _load_statement(_SUMMED_UP)


async def events_after(session_id: UUID, after: int, limit: int) -> list[tuple[int, str]]:
    """The next events of a log, as (seq, JSON)."""
    query = """
        SELECT seq, body::text FROM sessions_app_event
        WHERE session_id = %(session)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s"""
    rows = await fetch_all(query, {"session": session_id, "after": after, "limit": limit})
    return [(seq, body) for seq, body in rows]


@dataclass(frozen=True)
class SessionStatus:
    """Where a session stands, for someone who watches it.

    Attributes:
        lease_token: of the session's newest lease.
        invocation: the one that runs, else the oldest queued one: id and status; None when all is done.
        open: the ids of the invocations and jobs that are queued or running.
    """

    last_seq: int
    lease_token: int
    invocation: tuple[str, str] | None
    open: frozenset[str]


async def session_status(session_id: UUID, user_id: Any) -> SessionStatus | None:
    """How far the log is and what runs; None when the user has no such session."""
    query = f"{_STANDING} WHERE s.id = %(session)s AND s.user_id = %(user)s"
    row = await fetch_one(query, {"session": session_id, "user": user_id})
    return _session_status(*row[1:]) if row else None


async def session_statuses(session_ids: Sequence[UUID]) -> dict[UUID, SessionStatus]:
    """Where these sessions stand; deleted ones are absent."""
    rows = await fetch_all(f"{_STANDING} WHERE s.id = ANY(%(ids)s)", {"ids": list(session_ids)})
    return {row[0]: _session_status(*row[1:]) for row in rows}


def _session_status(
    last_seq: int, lease_token: int, running: str | None, queued: list[str], jobs: list[str]
) -> SessionStatus:
    first = (running, "running") if running else (queued[0], "queued") if queued else None
    return SessionStatus(
        last_seq, lease_token, first, frozenset(([running] if running else []) + queued + jobs)
    )


# Running and queued apart: each has an index of its own, and a session may have thousands that have ended.
_STANDING = """
SELECT s.id, s.last_seq, s.lease_token,
    (SELECT i.invocation_id FROM sessions_app_invocation i WHERE i.session_id = s.id AND i.status = 'running'),
    ARRAY(
        SELECT i.invocation_id FROM sessions_app_invocation i
        WHERE i.session_id = s.id AND i.status = 'queued' ORDER BY i.id
    ),
    ARRAY(
        SELECT j.id::text FROM sessions_app_tooljob j
        WHERE j.session_id = s.id AND j.status IN ('queued', 'running')
    )
FROM sessions_app_session s"""
