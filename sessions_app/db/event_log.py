"""A session's event log: append an event, load the session with its events, ask for its status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from runtime.events.summaries import SUMMARY_NOTE_KEY
from runtime.sessions.deltas import ScopedState
from sessions_app.actors import Act
from sessions_app.db.call_errors import INSERT_ERRORS, StagedError, errors_parameter
from sessions_app.db.pool import fetch_all, fetch_one, fetch_one_under_locks
from sessions_app.db.recorded_call import INSERT_TEXTS, RecordedCall, texts_parameters
from sessions_app.db.session_acts import act_parameter, insert_act
from sessions_app.db.staged_job import INSERT_JOBS, StagedJob, jobs_parameter
from sessions_app.statuses import JobStatus, sql_list

SessionKey = tuple[str, Any, str]
"""Name of the app, primary key of the user, session key."""

PAGE_EVENTS = 500
"""Events that one statement reads of a history: receiving them holds the event loop for a millisecond or two."""


@dataclass(frozen=True)
class Append:
    """One event to commit.

    Attributes:
        body: the event's JSON.
        needs_lease: true for an event with content and for a rewind: while a process holds the session's lease,
            no other writer may append such an event.
        timestamp: seconds since the epoch.
        lease_token: fencing token of the writer's lease; None for a writer without a lease.
        jobs: the jobs to create in the same transaction.
        act: the act that appends the event, recorded in the same transaction.
        expected: MD5 of the values, as text, that the keys of `delta` must have, with their prefixes; keys without a
            value are absent. None for an event that does not depend on them.
        errors: the exceptions behind the responses of the event, stored in the same transaction.
    """

    key: SessionKey
    body: str
    needs_lease: bool
    timestamp: float
    lease_token: int | None
    delta: ScopedState
    jobs: Sequence[StagedJob] = ()
    model_call: RecordedCall | None = None
    act: Act | None = None
    expected: Mapping[str, str] | None = None
    errors: Sequence[StagedError] = ()


@dataclass(frozen=True)
class Committed:
    """Position of a committed event."""

    session_id: UUID
    seq: int


async def append(event: Append) -> Committed | None:
    """Write the event row, the three scopes of state and the jobs in one statement.

    Returns None, with nothing written, when the session does not exist, the fencing token is stale, or a value is not
    the expected one.
    """
    app_name, user_id, key = event.key
    delta = event.delta
    params = {
        "app": app_name,
        "user": user_id,
        "key": key,
        "token": event.lease_token,
        "needs_lease": event.needs_lease,
        "at": event.timestamp,
        "body": event.body,
        "session_delta": Jsonb(delta.session),
        "user_delta": Jsonb(delta.user),
        "app_delta": Jsonb(delta.app),
        "jobs": jobs_parameter(event.jobs),
        "model_call": event.model_call.body if event.model_call else None,
        **texts_parameters(event.model_call),
        "act": act_parameter(event.act) if event.act else None,
    }
    if event.errors:
        params["errors"] = errors_parameter(event.errors)
    if event.expected is not None:
        params["expected"] = Jsonb(dict(event.expected))
    statement = _append_statement(
        changes_state=bool(delta.session or delta.user or delta.app),
        is_conditional=event.expected is not None,
        creates_jobs=bool(event.jobs),
        is_recorded=event.act is not None,
        has_errors=bool(event.errors),
        has_texts=event.model_call is not None and bool(event.model_call.texts),
    )
    if event.expected is not None and delta.user and delta.app:
        row = await fetch_one_under_locks([_LOCK_NEW_USER_STATE], statement, params)
    else:
        row = await fetch_one(statement, params)
    return Committed(*row) if row else None


@lru_cache(maxsize=32)
def _append_statement(
    *,
    changes_state: bool,
    is_conditional: bool,
    creates_jobs: bool,
    is_recorded: bool,
    has_errors: bool,
    has_texts: bool,
) -> str:
    """Return the statement of an append, with only the parts that the event needs."""
    if changes_state and is_conditional:
        parts = [_BODY, _LOCK_SESSION, _COMPARE, _NEXT_SEQ_AND_STATE_IF, _STORE_USER_STATE, _STORE_APP_STATE]
    elif changes_state:
        parts = [_BODY, _LOCK_SESSION, _NEXT_SEQ_AND_STATE, _USER_STATE, _APP_STATE]
    else:
        parts = [_BODY, _NEXT_SEQ]
    if creates_jobs:
        parts.append(INSERT_JOBS)
    if is_recorded:
        parts.append(f"act AS ({insert_act('s', 'source.last_seq')})")
    if has_errors:
        parts.append(INSERT_ERRORS)
    if has_texts:
        parts.append(INSERT_TEXTS)
    insert = _INSERT_EVENT_WITH_BEFORE if changes_state else _INSERT_EVENT
    return f"WITH {', '.join(parts)} {insert}"


_MAY_WRITE = """
    app_name = %(app)s AND user_id = %(user)s AND key = %(key)s AND CASE
        WHEN %(token)s::bigint IS NOT NULL THEN lease_token = %(token)s::bigint AND lease_owner <> ''
        ELSE NOT %(needs_lease)s::boolean OR lease_owner = '' OR lease_expires_at < now()
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
_NEXT_SEQ_AND_STATE_IF = _NEXT_SEQ_AND_STATE.replace("FROM old,", "FROM equal AS old,")

# Lock order: session row, then user state, then app state, also when a row is new. Every writer keeps to it.
_STORE_USER_STATE = """
user_state AS (
    INSERT INTO sessions_app_userstate AS t (app_name, user_id, state)
    SELECT %(app)s, %(user)s, %(user_delta)s FROM s LEFT JOIN old_user ON true WHERE %(user_delta)s <> '{}'
    ON CONFLICT (app_name, user_id) DO UPDATE SET state = t.state || EXCLUDED.state
    RETURNING t.id
)"""

_STORE_APP_STATE = """
app_state AS (
    INSERT INTO sessions_app_appstate AS t (app_name, state)
    SELECT %(app)s, %(app_delta)s FROM s WHERE %(app_delta)s <> '{}'
    ON CONFLICT (app_name) DO UPDATE SET state = t.state || EXCLUDED.state
)"""

_USER_STATE = f"""
old_user AS (
    SELECT state FROM sessions_app_userstate
    WHERE app_name = %(app)s AND user_id = %(user)s AND %(user_delta)s <> '{{}}' FOR UPDATE
), {_STORE_USER_STATE}"""  # noqa: S608

_APP_STATE = f"""
old_app AS (
    SELECT state FROM sessions_app_appstate
    WHERE app_name = %(app)s AND %(app_delta)s <> '{{}}' AND (SELECT count(*) FROM user_state) >= 0 FOR UPDATE
), {_STORE_APP_STATE}"""  # noqa: S608

_BEFORE = """
    adk_before(%(session_delta)s, s.before, '')
    || adk_before(%(user_delta)s, coalesce((SELECT state FROM old_user), '{}'), 'user:')
    || adk_before(%(app_delta)s, coalesce((SELECT state FROM old_app), '{}'), 'app:')"""

# The comparison locks only rows that exist: a user without state gets a row before the app's is locked.
_LOCK_NEW_USER_STATE = f"""
WITH {_LOCK_SESSION}
INSERT INTO sessions_app_userstate (app_name, user_id, state) SELECT %(app)s, %(user)s, '{{}}' FROM old
ON CONFLICT (app_name, user_id) DO NOTHING"""  # noqa: S608

# Each count makes PostgreSQL lock the row before it first.
_COMPARE = f"""
old_user AS (
    SELECT state FROM sessions_app_userstate
    WHERE app_name = %(app)s AND user_id = %(user)s AND %(user_delta)s <> '{{}}'
        AND (SELECT count(*) FROM old) > 0 FOR UPDATE
), old_app AS (
    SELECT state FROM sessions_app_appstate
    WHERE app_name = %(app)s AND %(app_delta)s <> '{{}}'
        AND (SELECT count(*) FROM old) + (SELECT count(*) FROM old_user) > 0 FOR UPDATE
), equal AS (
    SELECT s.id, s.before AS state FROM (SELECT id, state AS before FROM old) s
    WHERE %(expected)s = (
        SELECT coalesce(jsonb_object_agg(v.key, md5(v.value::text)), '{{}}') FROM jsonb_each({_BEFORE}) v
    )
)"""  # noqa: S608

_INSERT_EVENT = """
INSERT INTO sessions_app_event (session_id, seq, body, hash, model_call)
SELECT s.id, s.last_seq, s.body, s.log_hash, %(model_call)s::jsonb FROM s
RETURNING session_id, seq"""

# OFFSET 0 keeps PostgreSQL from computing `before` once more for the hash.
_INSERT_EVENT_WITH_BEFORE = f"""
INSERT INTO sessions_app_event (session_id, seq, body, before, hash, model_call)
SELECT s.id, s.last_seq, s.body, b.before, adk_event_hash(s.log_hash, b.before), %(model_call)s::jsonb
FROM s, LATERAL (SELECT {_BEFORE} AS before OFFSET 0) b
RETURNING session_id, seq"""  # noqa: S608


@dataclass(frozen=True)
class Loaded:
    """A session's row, its state in three scopes, and a part of its events as JSON, oldest first."""

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
    """Load a session; None when there is no such session. A long history takes several statements.

    Args:
        after: load only events with a larger `seq`.
        recent: load at most this many events, the newest.
        since: load only events with this timestamp or a later one.
        without_summed_up: instead of `after`, load the events from the last one on that the latest summary of the
            whole session covers (contract R4), even if the summary was rewound later.
    """
    app_name, user_id, session_key = key
    params = {"app": app_name, "user": user_id, "key": session_key, "after": after, "recent": recent}
    params |= {"since": since, "page": PAGE_EVENTS if since is None else None}
    row = await fetch_one(_LOAD_WITHOUT_SUMMED_UP if without_summed_up else _LOAD, params)
    if row is None:
        return None
    session_id, last_seq, updated_at, session_state, user_state, app_state, skipped, events = row
    # The state is as of `last_seq`, and events never change: later statements read the rest of the same history.
    while since is None and (missing := last_seq - skipped - len(events)) > 0:
        page = await events_after(session_id, last_seq - missing, min(missing, PAGE_EVENTS))
        if not page:  # The session was deleted meanwhile.
            return None
        events += [body for _seq, body in page]
    scoped = ScopedState(app=app_state, user=user_state, session=session_state)
    return Loaded(session_id, last_seq, updated_at, scoped, events)


def _load_statement(after: str) -> str:
    return f"""
SELECT s.id, s.last_seq, extract(epoch FROM s.updated_at)::float8, s.state,
    coalesce(u.state, '{{}}'), coalesce(a.state, '{{}}'), skipped.seq,
    ARRAY(
        SELECT e.body::text FROM sessions_app_event e
        WHERE e.session_id = s.id AND e.seq > skipped.seq
            AND (%(since)s::float8 IS NULL OR (e.body ->> 'timestamp')::float8 >= %(since)s::float8)
        ORDER BY e.seq LIMIT %(page)s::bigint
    )
FROM sessions_app_session s
LEFT JOIN sessions_app_userstate u ON u.app_name = s.app_name AND u.user_id = s.user_id
LEFT JOIN sessions_app_appstate a ON a.app_name = s.app_name
CROSS JOIN LATERAL (SELECT greatest({after}, s.last_seq - %(recent)s::bigint) AS seq OFFSET 0) skipped
WHERE s.app_name = %(app)s AND s.user_id = %(user)s AND s.key = %(key)s"""  # noqa: S608


# Both rows are found by scanning backwards from the end of the log. A summary names its last event by timestamp.
_SUMMED_UP = f"""
coalesce((
    SELECT last.seq - 1 FROM (
        SELECT c.seq, (c.body #>> '{{actions,compaction,endTimestamp}}')::float8 AS ends
        FROM sessions_app_event c
        WHERE c.session_id = s.id AND c.body -> 'customMetadata' ? '{SUMMARY_NOTE_KEY}'
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
    """Return up to `limit` events after a `seq`, as (seq, JSON)."""
    query = """
        SELECT seq, body::text FROM sessions_app_event
        WHERE session_id = %(session)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s"""
    rows = await fetch_all(query, {"session": session_id, "after": after, "limit": limit})
    return [(seq, body) for seq, body in rows]


@dataclass(frozen=True)
class SessionStatus:
    """Status of a session, as a watcher needs it.

    Attributes:
        lease_token: fencing token of the session's newest lease.
        invocation: id and status of the running invocation, else of the oldest queued one; None without either.
        active: the ids of the invocations and jobs that are queued or running.
        waiting: the ids of the jobs that wait for an answer.
    """

    app_name: str
    last_seq: int
    lease_token: int
    invocation: tuple[str, str] | None
    active: frozenset[str]
    waiting: frozenset[str] = frozenset()


async def session_status(session_id: UUID, user_id: Any) -> SessionStatus | None:
    """Return the status of a session; None when the user has no such session, or has deleted it."""
    query = f"{_SESSION_STATUS} WHERE s.id = %(session)s AND s.user_id = %(user)s AND s.deleted_at IS NULL"
    row = await fetch_one(query, {"session": session_id, "user": user_id})
    return _session_status(*row[1:]) if row else None


async def session_statuses(session_ids: Sequence[UUID]) -> dict[UUID, SessionStatus]:
    """Return the statuses of the sessions; deleted sessions are absent."""
    rows = await fetch_all(
        f"{_SESSION_STATUS} WHERE s.id = ANY(%(ids)s) AND s.deleted_at IS NULL", {"ids": list(session_ids)}
    )
    return {row[0]: _session_status(*row[1:]) for row in rows}


async def owners(session_ids: Iterable[UUID]) -> list[str]:
    """Return the users, by their primary keys, to whom the sessions belong."""
    query = "SELECT DISTINCT user_id::text FROM sessions_app_session WHERE id = ANY(%(ids)s)"
    return [user_id for (user_id,) in await fetch_all(query, {"ids": list(session_ids)})]


def _session_status(
    app_name: str,
    last_seq: int,
    lease_token: int,
    running: str | None,
    queued: list[str],
    jobs: list[str],
    waiting: list[str],
) -> SessionStatus:
    first = (running, "running") if running else (queued[0], "queued") if queued else None
    active = frozenset(([running] if running else []) + queued + jobs)
    return SessionStatus(app_name, last_seq, lease_token, first, active, frozenset(waiting))


# Two subqueries: running and queued invocations each have a partial index; a session may have thousands of ended ones.
_SESSION_STATUS = f"""
SELECT s.id, s.app_name, s.last_seq, s.lease_token,
    (SELECT i.invocation_id FROM sessions_app_invocation i WHERE i.session_id = s.id AND i.status = 'running'),
    ARRAY(
        SELECT i.invocation_id FROM sessions_app_invocation i
        WHERE i.session_id = s.id AND i.status = 'queued' ORDER BY i.id
    ),
    ARRAY(
        SELECT j.id::text FROM sessions_app_tooljob j
        WHERE j.session_id = s.id AND j.status IN {sql_list(JobStatus.active())}
    ),
    ARRAY(
        SELECT j.id::text FROM sessions_app_tooljob j WHERE j.session_id = s.id AND j.status = 'waiting'
    )
FROM sessions_app_session s"""  # noqa: S608
