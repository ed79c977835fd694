"""Leases with fencing tokens: claim an invocation, renew, finish and hand over a lease, take back expired leases.

A session has one lease, in the columns of its row, and its holder is the only writer of content. Each new lease raises
`lease_token`, the fencing token; appends, `finish` and `hand_over` compare it. A holder which was only slow, and whose
lease was taken back, therefore writes nothing more: its statements find no row.

             enqueue, claim_next                 finish
    queued -----------------------> running ----------------> completed, failed, cancelled
       ^                               |  |                       ^
       +-- hand_over, at a shutdown ---+  +---> waiting ----------+ complete_waiting
       +-- take_back_expired, ---------+
           after a crash

A heartbeat renews all leases of a process in one statement. An expired lease stays in the row until a sweep takes it
back: the sweep changes token and status together, so no claim finds a free session with a running invocation. All times
are PostgreSQL's, because the clocks of machines differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from psycopg.types.json import Jsonb

from runtime.artifacts.borrowed_artifact_service import SessionArgs
from sessions_app.base.actors import ActorKind
from sessions_app.base.client_ids import LOSSLESS_PREFIXES
from sessions_app.errors import StaleLeaseError
from sessions_app.process.pool import Row, fetch_all, fetch_one
from sessions_app.store.sql.admission_limits import (
    EXCEEDED_NOW,
    EXCEEDED_TODAY,
    NO_LIMITS,
    AdmissionLimits,
    AdmissionRefusal,
    fetch_one_counted,
    key_has_spent,
)
from sessions_app.store.sql.event_log import Loaded
from sessions_app.store.sql.usage import ADD_USED, ADD_USED_OF_KEY, NO_USE, Used

BATCH_SIZE = 100


@dataclass(frozen=True)
class Claim:
    """The right to run an invocation, held under a lease.

    Attributes:
        attempts: number of claims, with this claim. From the second on the log may hold a part of the run.
        is_retried: True if the invocation had failed and the person asked for a retry.
        is_cancelled: True if a cancel request is stored: end the invocation instead of running it.
        credentials: the encrypted credentials of the message.
        refused_by: exceeded limit, if any: end the invocation instead of running it.
        actor_kind: kind of the actor who asked for the invocation; `actor_name` and `actor_id` as in `Actor`.
        state_delta: changes of the state, committed with the message.
        preloaded: the session's row and state just before the claim, when the claiming statement returned them.
    """

    session_id: UUID
    app_name: str
    user_id: Any
    session_key: str
    invocation_id: str
    client_id: str
    message: dict[str, Any]
    lease_token: int
    attempts: int = 1
    is_retried: bool = False
    is_cancelled: bool = False
    credentials: str = field(default="", repr=False)
    refused_by: AdmissionRefusal | None = None
    actor_kind: str = ""
    actor_name: str = ""
    actor_id: str = ""
    state_delta: dict[str, Any] = field(default_factory=dict)
    preloaded: Loaded | None = None

    @property
    def runtime_args(self) -> SessionArgs:
        """App, user and id of the session, as keyword arguments of the runtime's services."""
        return {"app_name": self.app_name, "user_id": str(self.user_id), "session_id": self.session_key}

    @property
    def log_fields(self) -> dict[str, str]:
        """Return the `extra` fields for log lines about the invocation."""
        return {"invocation_id": self.invocation_id, "session_id": str(self.session_id)}

    @classmethod
    def from_row(cls, row: Row) -> "Claim":
        return cls(**{**row, "refused_by": AdmissionRefusal.named(row["refused_by"])})


async def claim_next(
    session_id: UUID,
    *,
    owner: str,
    lease_seconds: float,
    limits: AdmissionLimits = NO_LIMITS,
    versions: Mapping[str, str] = MappingProxyType({}),
) -> Claim | None:
    """Take the session's lease for its oldest queued invocation; None when the session is leased or nothing is queued.

    An invocation over a limit is claimed, too: `Claim.refused_by` names the limit. No limit applies to an invocation
    that has begun before. Only the limits of a day apply to answers, results of jobs and scheduled tasks.

    Args:
        versions: version of each app in this process, by name. The row of the invocation stores the version of its app.
    """
    params = {
        "session": session_id,
        "owner": owner,
        "ttl": lease_seconds,
        "lossless": list(LOSSLESS_PREFIXES),
        "versions": Jsonb(dict(versions)),
    }
    row = await fetch_one_counted(_CLAIM, params, limits)
    return Claim.from_row(row) if row else None


# Lock order: session row first, then the invocation, which cannot be cancelled until the statement ends.
_CLAIM = f"""
WITH free AS (
    SELECT id FROM sessions_app_session WHERE id = %(session)s AND lease_owner = '' FOR UPDATE
), next AS (
    SELECT q.id, q.session_id FROM free JOIN sessions_app_invocation q ON q.session_id = free.id
    WHERE q.status = 'queued' ORDER BY q.id LIMIT 1 FOR UPDATE OF q SKIP LOCKED
), s AS (
    UPDATE sessions_app_session t
    SET lease_token = t.lease_token + 1, lease_owner = %(owner)s,
        lease_expires_at = now() + make_interval(secs => %(ttl)s), updated_at = now()
    FROM next WHERE t.id = next.session_id
    RETURNING t.id, t.app_name, t.user_id, t.key, t.lease_token
)
UPDATE sessions_app_invocation i
SET status = 'running', owner = %(owner)s, attempts = i.attempts + 1, started_at = coalesce(i.started_at, now()),
    agent_version = coalesce(%(versions)s ->> s.app_name, '')
FROM s, next WHERE i.id = next.id
RETURNING s.id AS session_id, s.app_name, s.user_id, s.key AS session_key, i.invocation_id, i.client_id, i.message,
    s.lease_token, i.attempts, i.error_code <> '' AS is_retried, i.cancel_requested_at IS NOT NULL AS is_cancelled,
    i.credentials, i.actor_kind, i.actor_name, i.actor_id, i.state_delta,
    CASE
        WHEN i.attempts > 1 THEN ''
        ELSE coalesce(
            nullif({EXCEEDED_TODAY}, ''),
            CASE WHEN i.actor_kind = 'key' AND {key_has_spent("i.actor_id::uuid")} THEN 'key' END,
            CASE WHEN i.client_id ^@ ANY(%(lossless)s::text[]) THEN '' ELSE {EXCEEDED_NOW} END
        )
    END AS refused_by"""  # noqa: S608


@dataclass(frozen=True)
class Renewed:
    """Result of a heartbeat.

    Attributes:
        held: the sessions whose lease this owner still holds.
        cancelled: running invocations of these sessions with a cancel request.
    """

    held: frozenset[UUID]
    cancelled: tuple[str, ...]


async def renew(session_ids: Sequence[UUID], *, owner: str, lease_seconds: float) -> Renewed:
    """Extend this owner's leases, and report cancel requests, whose channel message may have been lost."""
    params = {"ids": list(session_ids), "owner": owner, "ttl": lease_seconds}
    rows = await fetch_all(_RENEW, params)
    return Renewed(
        held=frozenset(row["session_id"] for row in rows),
        cancelled=tuple(row["cancelled"] for row in rows if row["cancelled"]),
    )


# By owner, not by token: a single statement renews all leases, and an owner's name is unique to its process.
_RENEW = """
UPDATE sessions_app_session s SET lease_expires_at = now() + make_interval(secs => %(ttl)s)
WHERE s.id = ANY(%(ids)s) AND s.lease_owner = %(owner)s
RETURNING s.id AS session_id, (
    SELECT i.invocation_id FROM sessions_app_invocation i
    WHERE i.session_id = s.id AND i.status = 'running' AND i.cancel_requested_at IS NOT NULL
) AS cancelled"""


async def finish(
    claim: Claim,
    *,
    status: str,
    error_code: str = "",
    error_message: str = "",
    error_detail: str = "",
    used: Used = NO_USE,
) -> "Finished | None":
    """End the invocation, count its use, and release the lease.

    Return None, with nothing written, when the lease was lost.
    """
    params = {
        "session": claim.session_id,
        "token": claim.lease_token,
        "invocation": claim.invocation_id,
        "status": status,
        "code": error_code,
        "message": error_message,
        "detail": error_detail,
        "tokens": used.tokens,
        "cost": used.cost,
        "time_zone": settings.TIME_ZONE,
    }
    if claim.actor_kind == ActorKind.KEY:
        row = await fetch_one(_FINISH_OF_KEY, {**params, "key": claim.actor_id})
    else:
        row = await fetch_one(_FINISH, params)
    return Finished(**row) if row else None


@dataclass(frozen=True)
class Finished:
    """State of the session after an invocation has ended.

    Attributes:
        status: status of the invocation; `queued` when a cancel request came just before the invocation began to wait:
            the next claim ends the invocation.
    """

    status: str
    more_is_queued: bool


def _finish_query(more: str = "") -> str:
    """Return the statement to end an invocation.

    Args:
        more: a further part of its WITH.
    """
    # `synchronous_commit=off` saves a wait for the disk and is safe: if a crash of PostgreSQL loses the commit, the
    # invocation is resumed and found complete. `adk_has_queued` takes its snapshot under the lock of the session's row,
    # so it sees an invocation that was queued while the statement waited for the lock; a subquery would not.
    return f"""
WITH asynchronous AS (SELECT set_config('synchronous_commit', 'off', true)), lease AS (
    UPDATE sessions_app_session SET lease_owner = '', lease_expires_at = NULL, updated_at = last_event_at
    WHERE id = %(session)s AND lease_token = %(token)s AND lease_owner <> '' AND EXISTS (SELECT FROM asynchronous)
    RETURNING id, user_id
), used AS ({ADD_USED}){more}
UPDATE sessions_app_invocation i
SET status = CASE WHEN %(status)s = 'waiting' AND i.cancel_requested_at IS NOT NULL THEN 'queued' ELSE %(status)s END,
    error_code = %(code)s, error_message = %(message)s, error_detail = %(detail)s,
    finished_at = now(), credentials = ''
FROM lease WHERE i.session_id = lease.id AND i.invocation_id = %(invocation)s
RETURNING i.status, i.status = 'queued' OR adk_has_queued(i.session_id) AS more_is_queued"""  # noqa: S608


_FINISH = _finish_query()
_FINISH_OF_KEY = _finish_query(f", used_of_key AS ({ADD_USED_OF_KEY})")


async def hand_over(claim: Claim) -> bool:
    """Release the lease and queue the invocation for another process. Return False when the lease was lost."""
    params = {"session": claim.session_id, "token": claim.lease_token, "invocation": claim.invocation_id}
    return await fetch_one(_HAND_OVER, params) is not None


def _past_attempt(reason: str) -> str:
    """Return an SQL expression: the past attempts of the invocation `i`, with the current attempt as the last.

    Args:
        reason: the reason of the end, without quotation marks.
    """
    return f"""i.past_attempts || jsonb_build_object(
        'number', i.attempts, 'worker', i.owner, 'started_at', i.started_at, 'ended_at', now(), 'error', '{reason}',
        'agent', i.agent_version
    )"""


_HAND_OVER = f"""
WITH lease AS (
    UPDATE sessions_app_session SET lease_owner = '', lease_expires_at = NULL
    WHERE id = %(session)s AND lease_token = %(token)s AND lease_owner <> ''
    RETURNING id
)
UPDATE sessions_app_invocation i
SET status = 'queued', owner = '', past_attempts = {_past_attempt("The process was shut down.")}
FROM lease WHERE i.session_id = lease.id AND i.invocation_id = %(invocation)s
RETURNING i.id"""  # noqa: S608


async def take_back_expired() -> list[UUID]:
    """Release up to `BATCH_SIZE` expired leases and queue their running invocations again; return the sessions."""
    return [row["id"] for row in await fetch_all(_TAKE_BACK, {"limit": BATCH_SIZE})]


# The token grows here and not only with the next claim: an owner that was only slow must not write in between.
# SKIP LOCKED: sweeps of several processes share the work, and a session whose owner is writing is left alone.
_TAKE_BACK = f"""
WITH expired AS (
    SELECT id FROM sessions_app_session
    WHERE lease_owner <> '' AND lease_expires_at < now() LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), freed AS (
    UPDATE sessions_app_session s SET lease_token = lease_token + 1, lease_owner = '', lease_expires_at = NULL
    FROM expired WHERE s.id = expired.id
    RETURNING s.id
), queued AS (
    UPDATE sessions_app_invocation i
    SET status = 'queued', owner = '', past_attempts = {_past_attempt("The process died.")}
    FROM freed WHERE i.session_id = freed.id AND i.status = 'running'
)
SELECT id FROM freed"""  # noqa: S608


async def sessions_with_abandoned_queue(older_than_seconds: float, limit: int = BATCH_SIZE) -> list[UUID]:
    """Return up to `limit` sessions without a lease whose queued invocations are older than `older_than_seconds`.

    The process that queued the invocations has died, or could not run them. The sessions are those that follow a
    random id: callers at the same moment should get different sessions, and sessions that no process can run should
    not always come first.
    """
    abandoned = """
        SELECT DISTINCT i.session_id FROM sessions_app_invocation i
        JOIN sessions_app_session s ON s.id = i.session_id
        WHERE i.status = 'queued' AND s.lease_owner = ''
            AND i.created_at < now() - make_interval(secs => %(age)s)"""
    query = f"""
        ({abandoned} AND i.session_id >= %(random)s ORDER BY i.session_id LIMIT %(limit)s)
        UNION ALL
        ({abandoned} AND i.session_id < %(random)s ORDER BY i.session_id LIMIT %(limit)s)
        LIMIT %(limit)s"""
    params = {"age": older_than_seconds, "random": uuid4(), "limit": limit}
    return [row["session_id"] for row in await fetch_all(query, params)]


async def complete_waiting(claim: Claim, still_waiting: Sequence[str]) -> None:
    """Complete the waiting invocations of the claim's session, except `still_waiting`.

    Raises:
        StaleLeaseError: the lease was lost: another process may have asked since `still_waiting` was read.
    """
    query = """
        WITH lease AS (
            SELECT id FROM sessions_app_session
            WHERE id = %(session)s AND lease_token = %(token)s AND lease_owner <> '' FOR UPDATE
        ), completed AS (
            UPDATE sessions_app_invocation i SET status = 'completed'
            FROM lease
            WHERE i.session_id = lease.id AND i.status = 'waiting' AND i.invocation_id <> ALL(%(waiting)s)
        )
        SELECT id FROM lease"""
    params = {"session": claim.session_id, "token": claim.lease_token, "waiting": list(still_waiting)}
    if await fetch_one(query, params) is None:
        raise StaleLeaseError(f"Another process has taken over session {claim.session_id}.")
