"""The SQL of the hot path: one statement each, on psycopg's async pool (design.md, "PostgreSQL is the truth").

It stands beside the models that own the columns; everything else uses the ORM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID

from psycopg.types.json import Json, Jsonb

from runtime.sessions.deltas import ScopedState
from sessions_app.pool import fetch_all, fetch_one

SessionKey = tuple[str, Any, str]
"""app_name, primary key of the user, session key."""


@dataclass(frozen=True)
class Append:
    """One event to commit.

    Attributes:
        body: the event's JSON.
        speaks: whether it has content; only the holder of the lease may add content while there is a lease.
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
        parts = [_LOCK_SESSION, _NEXT_SEQ_AND_STATE, _USER_STATE, _APP_STATE]
    else:
        parts = [_NEXT_SEQ]
    if makes_jobs:
        parts.append(_JOBS)
    before = _BEFORE if changes_state else "NULL::jsonb"
    return f"WITH {', '.join(parts)} {_INSERT_EVENT.format(before=before)}"


_MAY_WRITE = """
    app_name = %(app)s AND user_id = %(user)s AND key = %(key)s AND CASE
        WHEN %(token)s::bigint IS NOT NULL THEN lease_token = %(token)s::bigint AND lease_owner <> ''
        ELSE NOT %(speaks)s::boolean OR lease_owner = '' OR lease_expires_at < now()
    END"""

_NEXT_SEQ = f"""
s AS (
    UPDATE sessions_app_session SET last_seq = last_seq + 1, updated_at = to_timestamp(%(at)s::float8)
    WHERE {_MAY_WRITE}
    RETURNING id, last_seq
)"""  # noqa: S608

_LOCK_SESSION = f"""
old AS (SELECT id, state FROM sessions_app_session WHERE {_MAY_WRITE} FOR UPDATE)"""  # noqa: S608

_NEXT_SEQ_AND_STATE = """
s AS (
    UPDATE sessions_app_session AS t
    SET last_seq = last_seq + 1, updated_at = to_timestamp(%(at)s::float8), state = t.state || %(session_delta)s
    FROM old WHERE t.id = old.id
    RETURNING t.id, t.last_seq, old.state AS before
)"""

_USER_STATE = """
old_user AS (
    SELECT state FROM sessions_app_userstate
    WHERE app_name = %(app)s AND user_id = %(user)s AND %(user_delta)s <> '{}' FOR UPDATE
), user_state AS (
    INSERT INTO sessions_app_userstate AS t (app_name, user_id, state)
    SELECT %(app)s, %(user)s, %(user_delta)s FROM s WHERE %(user_delta)s <> '{}'
    ON CONFLICT (app_name, user_id) DO UPDATE SET state = t.state || EXCLUDED.state
)"""

_APP_STATE = """
old_app AS (
    SELECT state FROM sessions_app_appstate WHERE app_name = %(app)s AND %(app_delta)s <> '{}' FOR UPDATE
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
    INSERT INTO sessions_app_tooljob (id, session_id, invocation_id, call_id, tool_name, task_name, agent_name, args)
    SELECT j.id, s.id, j.invocation_id, j.call_id, j.tool_name, j.task_name, j.agent_name, j.args
    FROM s, jsonb_to_recordset(%(jobs)s) AS j(
        id uuid, invocation_id text, call_id text, tool_name text, task_name text, agent_name text, args jsonb)
    ON CONFLICT (session_id, call_id) DO NOTHING
)"""

_INSERT_EVENT = """
INSERT INTO sessions_app_event (session_id, seq, body, before)
SELECT s.id, s.last_seq, %(body)s::jsonb, {before} FROM s
RETURNING session_id, seq"""


@dataclass(frozen=True)
class Loaded:
    """A session's row, its state in three scopes, and some of its events as JSON, oldest first."""

    session_id: UUID
    last_seq: int
    updated_at: float
    state: ScopedState
    events: list[str]


async def load(
    key: SessionKey, *, after: int = 0, recent: int | None = None, since: float | None = None
) -> Loaded | None:
    """A session with the events after a `seq`, of the last `recent` ones, since a time (inclusive)."""
    app_name, user_id, session_key = key
    params = {
        "app": app_name,
        "user": user_id,
        "key": session_key,
        "after": after,
        "recent": recent,
        "since": since,
    }
    row = await fetch_one(_LOAD, params)
    if row is None:
        return None
    session_id, last_seq, updated_at, session_state, user_state, app_state, events = row
    scoped = ScopedState(app=app_state, user=user_state, session=session_state)
    return Loaded(session_id, last_seq, updated_at, scoped, events)


_LOAD = """
SELECT s.id, s.last_seq, extract(epoch FROM s.updated_at)::float8, s.state,
    coalesce(u.state, '{}'), coalesce(a.state, '{}'),
    (
        SELECT coalesce(array_agg(e.body::text ORDER BY e.seq), '{}') FROM sessions_app_event e
        WHERE e.session_id = s.id
            AND e.seq > greatest(%(after)s::bigint, s.last_seq - %(recent)s::bigint)
            AND (%(since)s::float8 IS NULL OR (e.body ->> 'timestamp')::float8 >= %(since)s::float8)
    )
FROM sessions_app_session s
LEFT JOIN sessions_app_userstate u ON u.app_name = s.app_name AND u.user_id = s.user_id
LEFT JOIN sessions_app_appstate a ON a.app_name = s.app_name
WHERE s.app_name = %(app)s AND s.user_id = %(user)s AND s.key = %(key)s"""


async def events_after(session_id: UUID, after: int, limit: int) -> list[tuple[int, str]]:
    """The next events of a log, as (seq, JSON)."""
    query = """
        SELECT seq, body::text FROM sessions_app_event
        WHERE session_id = %(session)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s"""
    rows = await fetch_all(query, {"session": session_id, "after": after, "limit": limit})
    return [(seq, body) for seq, body in rows]


async def last_seqs(session_ids: Sequence[UUID]) -> dict[UUID, int]:
    """How far the logs of these sessions are; deleted ones are absent."""
    query = "SELECT id, last_seq FROM sessions_app_session WHERE id = ANY(%(ids)s)"
    return dict(await fetch_all(query, {"ids": list(session_ids)}))


@dataclass(frozen=True)
class Claim:
    """The right to run an invocation: what is to be done, for whom, and the lease under which."""

    session_id: UUID
    app_name: str
    user_id: Any
    session_key: str
    invocation_id: str
    client_id: str
    message: dict[str, Any]
    lease_token: int


@dataclass(frozen=True)
class Queued:
    """An invocation that was asked for: `claim` is there when it may run at once, by the owner that asked."""

    invocation_id: str
    status: str
    claim: Claim | None


async def enqueue(
    session_id: UUID,
    *,
    user_id: Any,
    invocation_id: str,
    client_id: str,
    message: dict[str, Any],
    title: str = "",
    owner: str = "",
    lease_seconds: float = 0.0,
) -> Queued | None:
    """Add an invocation, and take the session's lease for it when nobody runs anything and an `owner` is named.

    The same client id again adds nothing and tells what became of the first. None when the user has no such session.
    """
    params = {
        "session": session_id,
        "user": user_id,
        "invocation": invocation_id,
        "client": client_id,
        "message": Json(message),
        "title": title,
        "owner": owner,
        "ttl": lease_seconds,
    }
    row = await fetch_one(_ENQUEUE, params)
    if row is None:
        return None
    known_id, status, app_name, session_key, lease_token = row
    if lease_token is None:
        return Queued(known_id, status, None)
    claim = Claim(session_id, app_name, user_id, session_key, known_id, client_id, message, lease_token)
    return Queued(known_id, status, claim)


# The session's row is locked first: what is decided on it stays true until the statement ends.
_ENQUEUE = """
WITH s AS (
    SELECT id, app_name, key, lease_token, lease_owner, title FROM sessions_app_session
    WHERE id = %(session)s AND user_id = %(user)s FOR UPDATE
), added AS (
    INSERT INTO sessions_app_invocation
        (session_id, invocation_id, client_id, message, status, owner, attempts, started_at)
    SELECT s.id, %(invocation)s, %(client)s, %(message)s, decided.status,
        CASE WHEN decided.status = 'running' THEN %(owner)s ELSE '' END,
        (decided.status = 'running')::int,
        CASE WHEN decided.status = 'running' THEN now() END
    FROM s, LATERAL (
        SELECT CASE
            WHEN %(owner)s <> '' AND s.lease_owner = '' AND NOT EXISTS (
                SELECT FROM sessions_app_invocation WHERE session_id = s.id AND status = 'queued'
            ) THEN 'running' ELSE 'queued'
        END AS status
    ) decided
    ON CONFLICT (session_id, client_id) DO NOTHING
    RETURNING invocation_id, status
), changed AS (
    UPDATE sessions_app_session t
    SET title = CASE WHEN t.title = '' THEN left(%(title)s, 200) ELSE t.title END,
        lease_token = t.lease_token + (added.status = 'running')::int,
        lease_owner = CASE WHEN added.status = 'running' THEN %(owner)s ELSE t.lease_owner END,
        lease_expires_at = CASE
            WHEN added.status = 'running' THEN now() + make_interval(secs => %(ttl)s) ELSE t.lease_expires_at
        END
    FROM added WHERE t.id = %(session)s AND (added.status = 'running' OR t.title = '')
    RETURNING t.lease_token
)
SELECT added.invocation_id, added.status, s.app_name, s.key,
    CASE WHEN added.status = 'running' THEN (SELECT lease_token FROM changed) END
FROM added, s
UNION ALL
SELECT i.invocation_id, i.status, s.app_name, s.key, NULL FROM sessions_app_invocation i, s
WHERE i.session_id = s.id AND i.client_id = %(client)s AND NOT EXISTS (SELECT FROM added)"""


async def claim_next(session_id: UUID, *, owner: str, lease_seconds: float) -> Claim | None:
    """Take the session's lease for its oldest queued invocation. None when it is leased, or nothing is queued."""
    row = await fetch_one(_CLAIM, {"session": session_id, "owner": owner, "ttl": lease_seconds})
    return Claim(*row) if row else None


_CLAIM = """
WITH next AS (
    SELECT id FROM sessions_app_invocation
    WHERE session_id = %(session)s AND status = 'queued' ORDER BY id LIMIT 1
), lease AS (
    UPDATE sessions_app_session
    SET lease_token = lease_token + 1, lease_owner = %(owner)s,
        lease_expires_at = now() + make_interval(secs => %(ttl)s)
    WHERE id = %(session)s AND lease_owner = '' AND EXISTS (SELECT FROM next)
    RETURNING id, app_name, user_id, key, lease_token
)
UPDATE sessions_app_invocation i
SET status = 'running', owner = %(owner)s, attempts = i.attempts + 1, started_at = coalesce(i.started_at, now())
FROM lease, next WHERE i.id = next.id AND i.status = 'queued'
RETURNING lease.id, lease.app_name, lease.user_id, lease.key, i.invocation_id, i.client_id, i.message,
    lease.lease_token"""


async def renew(session_ids: Sequence[UUID], *, owner: str, lease_seconds: float) -> set[UUID]:
    """Push the expiry of this owner's leases on; returns those that it still holds."""
    query = """
        UPDATE sessions_app_session SET lease_expires_at = now() + make_interval(secs => %(ttl)s)
        WHERE id = ANY(%(ids)s) AND lease_owner = %(owner)s RETURNING id"""
    rows = await fetch_all(query, {"ids": list(session_ids), "owner": owner, "ttl": lease_seconds})
    return {row[0] for row in rows}


async def finish(
    claim: Claim, *, status: str, error_code: str = "", error_message: str = ""
) -> Finished | None:
    """End the invocation and give the lease back. None when the lease was lost: nothing was written then."""
    params = {
        "session": claim.session_id,
        "token": claim.lease_token,
        "invocation": claim.invocation_id,
        "status": status,
        "code": error_code,
        "message": error_message,
    }
    row = await fetch_one(_FINISH, params)
    return Finished(row[0]) if row else None


@dataclass(frozen=True)
class Finished:
    """What follows an invocation that has ended."""

    more_is_queued: bool


_FINISH = """
WITH lease AS (
    UPDATE sessions_app_session SET lease_owner = '', lease_expires_at = NULL
    WHERE id = %(session)s AND lease_token = %(token)s AND lease_owner <> ''
    RETURNING id
)
UPDATE sessions_app_invocation i
SET status = %(status)s, error_code = %(code)s, error_message = %(message)s, finished_at = now()
FROM lease WHERE i.session_id = lease.id AND i.invocation_id = %(invocation)s
RETURNING EXISTS (
    SELECT FROM sessions_app_invocation q WHERE q.session_id = i.session_id AND q.status = 'queued'
)"""


async def claim_expired(*, owner: str, lease_seconds: float) -> Claim | None:
    """Take over one running invocation whose lease ran out: its process is gone. None when there is none."""
    row = await fetch_one(_CLAIM_EXPIRED, {"owner": owner, "ttl": lease_seconds})
    return Claim(*row) if row else None


_CLAIM_EXPIRED = """
WITH expired AS (
    SELECT id FROM sessions_app_session
    WHERE lease_owner <> '' AND lease_expires_at < now() LIMIT 1 FOR UPDATE SKIP LOCKED
), lease AS (
    UPDATE sessions_app_session s
    SET lease_token = lease_token + 1, lease_owner = %(owner)s,
        lease_expires_at = now() + make_interval(secs => %(ttl)s)
    FROM expired WHERE s.id = expired.id
    RETURNING s.id, s.app_name, s.user_id, s.key, s.lease_token
)
UPDATE sessions_app_invocation i SET owner = %(owner)s, attempts = i.attempts + 1
FROM lease WHERE i.session_id = lease.id AND i.status = 'running'
RETURNING lease.id, lease.app_name, lease.user_id, lease.key, i.invocation_id, i.client_id, i.message,
    lease.lease_token"""


async def sessions_with_forgotten_queue(older_than_seconds: float) -> list[UUID]:
    """Sessions where something is queued and nobody runs anything: whoever queued it is gone."""
    query = """
        SELECT DISTINCT i.session_id FROM sessions_app_invocation i
        JOIN sessions_app_session s ON s.id = i.session_id
        WHERE i.status = 'queued' AND s.lease_owner = ''
            AND i.created_at < now() - make_interval(secs => %(age)s)
        LIMIT 100"""
    return [row[0] for row in await fetch_all(query, {"age": older_than_seconds})]


@dataclass(frozen=True)
class Standing:
    """Where a session stands, for someone who joins.

    Attributes:
        invocation: the one that runs, else the oldest queued one: id and status; None when all is done.
    """

    last_seq: int
    invocation: tuple[str, str] | None


async def standing(session_id: UUID, user_id: Any) -> Standing | None:
    """How far the log is and what runs; None when the user has no such session."""
    query = """
        SELECT s.last_seq, i.invocation_id, i.status FROM sessions_app_session s
        LEFT JOIN LATERAL (
            SELECT invocation_id, status FROM sessions_app_invocation
            WHERE session_id = s.id AND status IN ('running', 'queued') ORDER BY status DESC, id LIMIT 1
        ) i ON true
        WHERE s.id = %(session)s AND s.user_id = %(user)s"""
    row = await fetch_one(query, {"session": session_id, "user": user_id})
    if row is None:
        return None
    return Standing(row[0], (row[1], row[2]) if row[1] else None)


async def settle_waiting(session_id: UUID) -> None:
    """Invocations that waited for jobs, all of which have answered, are completed."""
    query = """
        UPDATE sessions_app_invocation i SET status = 'completed'
        WHERE i.session_id = %(session)s AND i.status = 'waiting'
            AND EXISTS (SELECT FROM sessions_app_tooljob j WHERE j.invocation_id = i.invocation_id)
            AND NOT EXISTS (
                SELECT FROM sessions_app_tooljob j
                WHERE j.invocation_id = i.invocation_id AND j.delivered_at IS NULL
            )
        RETURNING i.id"""
    await fetch_all(query, {"session": session_id})


async def mark_sent(job_id: UUID) -> None:
    """The broker has taken the job."""
    query = "UPDATE sessions_app_tooljob SET sent_at = now() WHERE id = %(id)s RETURNING id"
    await fetch_one(query, {"id": job_id})
