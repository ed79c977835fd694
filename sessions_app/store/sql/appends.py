"""Append an event in one statement: its row, the three scopes of state, its jobs, and all else that it commits.

The append is the only writer of the log. One statement is one transaction in one round trip: a crash leaves the event
with its state and jobs, or nothing. The statement is a chain of CTEs, built from the parts that the event needs:

    given    the event's JSON, parsed once
    old      the session's row, locked, if the writer's fencing token is the newest (`_MAY_WRITE`)
    equal    conditional appends only: the row, if the state has the expected values
    s        the session's row with the next `seq` and the merged state
    ...      user state, app state, jobs, act, errors, texts: each selects from `s`
    INSERT   the event's row, which selects from `s`, too; a trigger computes its hash

All later parts select from `s`. A writer without the right to append gets no `s`, so the statement writes nothing and
returns no row; a second statement finds the reason (`AppendRefusal`). `seq` is counted in the session's row rather than
taken from a sequence: the lock of the row makes the numbers dense, in the order of the commits.

Lock order, which every writer keeps, or two writers could wait for each other:

    session ---> user state ---> app state

PostgreSQL runs a CTE when another part reads its rows, not where the CTE stands. Therefore a part that locks a row
reads or counts the rows of the part that locks the row before. A row that does not exist yet has its place in the
order, too: a user's first state is inserted before the app's state is locked. Parts that skip locked rows wait for
nothing, and need no order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

import psycopg.errors
from psycopg.types.json import Jsonb

from runtime.sessions.state import ScopedState
from sessions_app.base.actors import Act
from sessions_app.models.session_act import act_parameter, insert_act
from sessions_app.process.pool import Row, fetch_one, fetch_one_under_locks
from sessions_app.store.sql.append_groups import fetch_in_turn
from sessions_app.store.sql.event_log import SessionKey, load
from sessions_app.store.sql.event_rows import (
    INSERT_ERRORS,
    INSERT_JOBS,
    INSERT_TEXTS,
    RecordedCall,
    StagedError,
    StagedJob,
    errors_parameter,
    jobs_parameter,
    texts_parameters,
)


@dataclass(frozen=True)
class Append:
    """One event to commit.

    Attributes:
        body: the event's JSON.
        respects_lease: True for an event with content and for a rewind: while a process holds the session's lease,
            no other writer may append such an event.
        timestamp: seconds since the epoch.
        lease_token: fencing token of the writer's lease; None for a writer without a lease.
        jobs: the jobs to create in the same transaction.
        act: the act that appends the event, recorded in the same transaction.
        expected: MD5 of the values, as PostgreSQL writes them, that the keys of `delta` must have before the append.
            Keys have their prefixes; keys without a value are absent. None skips the check.
        errors: the exceptions behind the responses of the event, stored in the same transaction.
    """

    key: SessionKey
    body: str
    respects_lease: bool
    timestamp: float
    lease_token: int | None
    delta: ScopedState
    jobs: Sequence[StagedJob] = ()
    model_call: RecordedCall | None = None
    act: Act | None = None
    expected: Mapping[str, str] | None = None
    errors: Sequence[StagedError] = ()

    @property
    def is_conditional(self) -> bool:
        return self.expected is not None

    @property
    def has_texts(self) -> bool:
        return self.model_call is not None and bool(self.model_call.texts)


@dataclass(frozen=True)
class Committed:
    """Position of a committed event."""

    session_id: UUID
    seq: int


class AppendRefusal(Enum):
    """Reason why an event was not appended."""

    MISSING = auto()
    """The session does not exist."""
    STALE_LEASE = auto()
    """The session's lease refuses the event, by `Append.respects_lease` and `Append.lease_token`."""
    VALUE_CHANGED = auto()
    """A value differs from `Append.expected`."""


async def append(new: Append) -> Committed | AppendRefusal:
    """Write the row of the event, and all rows that belong to it, in one statement. A refusal has written nothing."""
    params = _parameters(new)
    try:
        row = await _write(new, params)
    except psycopg.errors.RestrictViolation:
        # A session whose history is cached here may have been packed: a load would have opened it.
        if await load(new.key, recent=0) is None:
            return AppendRefusal.MISSING
        row = await _write(new, params)
    return Committed(**row) if row else await _refusal(params, new.is_conditional)


async def _write(new: Append, params: dict[str, Any]) -> Row | None:
    delta = new.delta
    statement = partial(
        _append_statement,
        changes_state=bool(delta.session or delta.user or delta.app),
        is_conditional=new.is_conditional,
        creates_jobs=bool(new.jobs),
        is_recorded=new.act is not None,
        has_errors=bool(new.errors),
        has_texts=new.has_texts,
    )
    # A group may wait for the app's row only. A comparison waits for the session's row, and texts wait for their lock.
    if delta.app and not new.is_conditional and not new.has_texts:
        row = await fetch_in_turn(new.key[0], statement(waits=False), params)
        # No row: the group was rolled back, a row was locked, or the append is refused. The waiting statement tells.
        row = row or await fetch_one(statement(), params)
    elif delta.app and delta.user and new.is_conditional:
        row = await fetch_one_under_locks([_LOCK_NEW_USER_STATE], statement(), params)
    else:
        row = await fetch_one(statement(), params)
    return row


async def _refusal(params: dict[str, Any], is_conditional: bool) -> AppendRefusal:
    # A lost lease stays lost: a conditional writer that may still write has met another value.
    row = await fetch_one(_SELECT_RIGHT, params)
    if row is None:
        return AppendRefusal.MISSING
    if is_conditional and row["may_write"]:
        return AppendRefusal.VALUE_CHANGED
    return AppendRefusal.STALE_LEASE


def _parameters(new: Append) -> dict[str, Any]:
    app_name, user_id, key = new.key
    params = {
        "app": app_name,
        "user": user_id,
        "key": key,
        "token": new.lease_token,
        "respects_lease": new.respects_lease,
        "at": new.timestamp,
        "body": new.body,
        "session_delta": Jsonb(new.delta.session),
        "user_delta": Jsonb(new.delta.user),
        "app_delta": Jsonb(new.delta.app),
        "jobs": jobs_parameter(new.jobs),
        "model_call": new.model_call.body if new.model_call else None,
        **texts_parameters(new.model_call),
        "act": act_parameter(new.act) if new.act else None,
    }
    if new.errors:
        params["errors"] = errors_parameter(new.errors)
    if new.expected is not None:
        params["expected"] = Jsonb(dict(new.expected))
    return params


@lru_cache(maxsize=32)
def _append_statement(
    *,
    changes_state: bool,
    is_conditional: bool,
    creates_jobs: bool,
    is_recorded: bool,
    has_errors: bool,
    has_texts: bool,
    waits: bool = True,
) -> str:
    """Return the statement of an append, with only the parts that the event needs.

    Args:
        waits: False for a statement which writes nothing when its session or user is locked (see `append_groups`).
    """
    parts = [_BODY]
    if changes_state and is_conditional:
        parts += [_LOCK_SESSION, _COMPARE, _next_seq_and_state("equal"), _STORE_USER_STATE, _STORE_APP_STATE]
    elif changes_state:
        if waits:
            parts += [_LOCK_SESSION, _lock_user_state("FOR UPDATE")]
        else:
            parts += [_lock_user_state("FOR UPDATE SKIP LOCKED"), _LOCK_FREE_SESSION]
        parts += [_next_seq_and_state("old"), _STORE_USER_STATE, _LOCK_APP_STATE, _STORE_APP_STATE]
    else:
        parts += [_NEXT_SEQ]
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


_IS_SESSION = "app_name = %(app)s AND user_id = %(user)s AND key = %(key)s"

# A writer with a token must hold the newest lease. A writer without a token may append an event with content only while
# no lease is in force; `lease_expires_at < now()` covers a crashed owner that no sweep has found yet.
_HAS_RIGHT = """CASE
    WHEN %(token)s::bigint IS NOT NULL THEN lease_token = %(token)s::bigint AND lease_owner <> ''
    ELSE NOT %(respects_lease)s::boolean OR lease_owner = '' OR lease_expires_at < now()
END"""

_MAY_WRITE = f"{_IS_SESSION} AND {_HAS_RIGHT}"
_SELECT_RIGHT = f"SELECT {_HAS_RIGHT} AS may_write FROM sessions_app_session WHERE {_IS_SESSION}"  # noqa: S608

# Materialized: PostgreSQL would otherwise parse the JSON at each use.
_BODY = "given AS MATERIALIZED (SELECT %(body)s::jsonb AS body)"

# An indexed column that keeps its value lets PostgreSQL update the row in place, without a new entry in each index.
_TIMES = """
    last_event_at = to_timestamp(%(at)s::float8),
    updated_at = CASE
        WHEN t.updated_at BETWEEN to_timestamp(%(at)s::float8 - 60) AND to_timestamp(%(at)s::float8) THEN t.updated_at
        ELSE to_timestamp(%(at)s::float8)
    END"""

_NEXT_SEQ = f"""
s AS (
    UPDATE sessions_app_session AS t
    SET {_TIMES}, last_seq = last_seq + 1
    FROM given WHERE {_MAY_WRITE}
    RETURNING t.id, t.last_seq, given.body
)"""  # noqa: S608

_LOCK_SESSION = f"""
old AS (SELECT id, state FROM sessions_app_session WHERE {_MAY_WRITE} FOR UPDATE)"""  # noqa: S608


def _next_seq_and_state(old: str) -> str:
    """Return the part `s`. `old` is the part with the locked row of the session and its state."""
    return f"""
s AS (
    UPDATE sessions_app_session AS t
    SET {_TIMES}, last_seq = last_seq + 1, state = t.state || %(session_delta)s
    FROM {old} AS old, given WHERE t.id = old.id
    RETURNING t.id, t.last_seq, given.body, old.state AS before
)"""  # noqa: S608


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


def _lock_user_state(lock: str) -> str:
    return f"""
old_user AS (
    SELECT state FROM sessions_app_userstate
    WHERE app_name = %(app)s AND user_id = %(user)s AND %(user_delta)s <> '{{}}' {lock}
)"""  # noqa: S608


# A user without state is not free: its insert would wait for an uncommitted insert of the same row.
_LOCK_FREE_SESSION = f"""
old AS (
    SELECT id, state FROM sessions_app_session
    WHERE {_MAY_WRITE} AND (%(user_delta)s = '{{}}' OR EXISTS (SELECT FROM old_user)) FOR UPDATE SKIP LOCKED
)"""  # noqa: S608

_LOCK_APP_STATE = """
old_app AS (
    SELECT state FROM sessions_app_appstate
    WHERE app_name = %(app)s AND %(app_delta)s <> '{}' AND (SELECT count(*) FROM user_state) >= 0 FOR UPDATE
)"""

# Values that the keys of the delta had before, in all scopes; keys without a value are absent.
_BEFORE = """
    adk_before(%(session_delta)s, s.before, '')
    || adk_before(%(user_delta)s, coalesce((SELECT state FROM old_user), '{}'), 'user:')
    || adk_before(%(app_delta)s, coalesce((SELECT state FROM old_app), '{}'), 'app:')"""

# The comparison locks only rows that exist: a user without state gets a row before the app's is locked.
_LOCK_NEW_USER_STATE = f"""
WITH {_LOCK_SESSION}
INSERT INTO sessions_app_userstate (app_name, user_id, state) SELECT %(app)s, %(user)s, '{{}}' FROM old
ON CONFLICT (app_name, user_id) DO NOTHING"""  # noqa: S608

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
INSERT INTO sessions_app_event (session_id, seq, body, model_call)
SELECT s.id, s.last_seq, s.body, %(model_call)s::jsonb FROM s
RETURNING session_id, seq"""

_INSERT_EVENT_WITH_BEFORE = f"""
INSERT INTO sessions_app_event (session_id, seq, body, before, model_call)
SELECT s.id, s.last_seq, s.body, {_BEFORE}, %(model_call)s::jsonb FROM s
RETURNING session_id, seq"""  # noqa: S608
