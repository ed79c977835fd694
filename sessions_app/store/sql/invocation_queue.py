"""Queue of a session's invocations: add an invocation, which is claimed immediately when the session is free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Required, TypedDict
from uuid import UUID

from psycopg.types.json import Json, Jsonb

from runtime.sessions.deltas import ScopedState
from sessions_app.base.actors import SITE, Actor, ActorKind
from sessions_app.base.client_ids import MUST_NOT_BE_LOST
from sessions_app.process.pool import fetch_all, short
from sessions_app.store.sql.concurrency_limits import (
    EXCESS,
    EXCESS_OF_DAY,
    NO_LIMITS,
    ConcurrencyLimits,
    fetch_one_counted,
    key_has_spent,
)
from sessions_app.store.sql.event_log import Loaded
from sessions_app.store.sql.leases import Claim

REFUSED = "refused"
"""Status of a message that the app's queue policy rejected; no invocation was added."""
FULL = "full"
"""Status of a message whose user has as many waiting messages as are allowed; no invocation was added."""
SPENT = "spent"
"""Status of a message with an API key that has used up its tokens of the day; no invocation was added."""


@dataclass(frozen=True)
class Lease:
    """Owner and duration of the lease that a process takes with a claim."""

    owner: str
    seconds: float


@dataclass(frozen=True)
class AdmissionRules:
    """Admission rules for a message.

    Attributes:
        policies: queue policies by app name; the key "" holds the policy of all other apps. The default is `enqueue`.
        limits: limits on invocations and on the use of a day. For answers, results of jobs and scheduled tasks, which
            must not be lost, only the limits on use apply.
    """

    policies: Mapping[str, str] = field(default_factory=dict)
    limits: ConcurrencyLimits = NO_LIMITS

    def limits_of(self, client_id: str) -> ConcurrencyLimits:
        """Return the limits that apply to the message with this client id."""
        return self.limits.without_numbers() if client_id.startswith(MUST_NOT_BE_LOST) else self.limits


class NewInvocation(TypedDict, total=False):
    """Values of the row of an invocation to queue, as `enqueue` takes them."""

    user_id: Required[Any]
    client_id: Required[str]
    message: Required[dict[str, Any]]
    by: Actor
    reason: str
    credentials: str
    title: str
    state_delta: Mapping[str, Any] | None


@dataclass(frozen=True)
class Queued:
    """Result of `enqueue`.

    Attributes:
        status: the invocation's status, `REFUSED`, `FULL` or `SPENT`.
        claim: the caller's claim when the invocation runs immediately.
        is_repeated: True when an invocation with the client id existed; id and status are of that invocation.
        interrupts: True when the queue policy cancels the invocations before this one: see `interrupt_older`.
    """

    invocation_id: str
    status: str
    claim: Claim | None
    is_repeated: bool = False
    interrupts: bool = False


async def enqueue(  # noqa: PLR0913 - the values of the row
    session_id: UUID,
    *,
    user_id: Any,
    invocation_id: str,
    client_id: str,
    message: dict[str, Any],
    by: Actor = SITE,
    reason: str = "",
    credentials: str = "",
    title: str = "",
    state_delta: Mapping[str, Any] | None = None,
    lease: Lease | None = None,
    rules: AdmissionRules = AdmissionRules(),
) -> Queued | None:
    """Add an invocation. With a `lease`, claim it immediately when the session has no other active invocation.

    Idempotent: a repeated client id adds nothing and returns the first invocation. Returns None when the user has no
    such session, or has deleted it. `credentials` are those of the message, encrypted, which itself has none. `title`
    becomes the title of a session without one.
    """
    params = {
        "session": session_id,
        "user": user_id,
        "invocation": invocation_id,
        "client": client_id,
        "message": Json(message),
        "reason": reason,
        **by.columns(),
        "credentials": credentials,
        "title": title,
        "state_delta": Json(dict(state_delta or {})),
        **_claim_parameters(by, lease, rules),
    }
    enqueue_once = partial(fetch_one_counted, _ENQUEUE, params, rules.limits_of(client_id))
    # A statement that has waited for another one with the same client id does not see the row of that one.
    row = await enqueue_once() or await enqueue_once()
    if row is None:
        return None
    stored_id, status, is_repeated, interrupts, lease_token, *claimed = row
    if lease_token is None:
        return Queued(stored_id, status, None, is_repeated, interrupts)
    excess, app_name, session_key, *state = claimed
    claim = Claim(
        session_id, app_name, user_id, session_key, stored_id, client_id, message, lease_token,
        credentials=credentials, excess=excess, state_delta=dict(state_delta or {}),
        actor_kind=by.kind, actor_name=by.name, actor_id=by.key, preloaded=_preloaded(session_id, *state),
    )  # fmt: skip
    return Queued(stored_id, status, claim)


def _claim_parameters(by: Actor, lease: Lease | None, rules: AdmissionRules) -> dict[str, Any]:
    """Return the parameters that decide on a claim."""
    return {
        "key": by.key if by.kind == ActorKind.KEY else None,
        "policies": Jsonb(dict(rules.policies)),
        "owner": lease.owner if lease else "",
        "ttl": lease.seconds if lease else 0.0,
    }


def _preloaded(
    session_id: UUID,
    last_seq: int,
    last_event_at: float,
    of_session: dict[str, Any],
    of_user: dict[str, Any],
    of_app: dict[str, Any],
) -> Loaded:
    """Return the session as it was just before the claim, without its events."""
    state = ScopedState(app=of_app, user=of_user, session=of_session)
    return Loaded(session_id, last_seq, last_event_at, state, last_seq, [])


# Lock order: session row first. The lock keeps `is_free` true until the statement ends.
_ENQUEUE = short(f"""
WITH s AS (
    SELECT id, app_name, user_id, key, lease_token, lease_owner, title, last_seq, last_event_at, state
    FROM sessions_app_session
    WHERE id = %(session)s AND user_id = %(user)s AND deleted_at IS NULL FOR UPDATE
), rules AS (
    SELECT coalesce(%(policies)s ->> s.app_name, %(policies)s ->> '', 'enqueue') AS policy,
        s.lease_owner = '' AND NOT EXISTS (
            SELECT FROM sessions_app_invocation WHERE session_id = s.id AND status = 'queued'
        ) AS is_free
    FROM s
), decided AS (
    SELECT CASE
        WHEN %(key)s::uuid IS NOT NULL AND {key_has_spent("%(key)s::uuid")} THEN 'spent'
        WHEN rules.is_free THEN CASE WHEN %(owner)s <> '' THEN 'running' ELSE 'queued' END
        WHEN rules.policy = 'reject' THEN 'refused'
        WHEN %(most_queued)s::int > 0 AND adk_queue_is_full(s.id, %(most_queued)s::int) THEN 'full'
        ELSE 'queued'
    END AS status
    FROM s, rules
), added AS (
    INSERT INTO sessions_app_invocation
        (session_id, invocation_id, client_id, message, state_delta, actor_kind, actor_id, actor_name, address,
        reason, credentials, status, owner, attempts, started_at)
    SELECT s.id, %(invocation)s, %(client)s, %(message)s, %(state_delta)s, %(actor_kind)s, %(actor_id)s, %(actor_name)s,
        %(address)s::inet, %(reason)s, %(credentials)s, decided.status,
        CASE WHEN decided.status = 'running' THEN %(owner)s ELSE '' END,
        (decided.status = 'running')::int,
        CASE WHEN decided.status = 'running' THEN statement_timestamp() END
    FROM s, decided
    WHERE decided.status IN ('running', 'queued')
    ON CONFLICT (session_id, client_id) DO NOTHING
    RETURNING invocation_id, status
), changed AS (
    UPDATE sessions_app_session t
    SET title = CASE WHEN t.title = '' THEN left(%(title)s, 200) ELSE t.title END,
        updated_at = now(),
        archived_at = CASE WHEN %(actor_kind)s = 'person' THEN NULL ELSE t.archived_at END,
        lease_token = t.lease_token + (added.status = 'running')::int,
        lease_owner = CASE WHEN added.status = 'running' THEN %(owner)s ELSE t.lease_owner END,
        lease_expires_at = CASE
            WHEN added.status = 'running' THEN now() + make_interval(secs => %(ttl)s) ELSE t.lease_expires_at
        END
    FROM added WHERE t.id = %(session)s AND (added.status = 'running' OR t.title = '' OR t.archived_at IS NOT NULL)
    RETURNING t.lease_token
)
SELECT coalesce(added.invocation_id, existing.invocation_id, ''),
    coalesce(added.status, existing.status, decided.status),
    existing.id IS NOT NULL, added.status = 'queued' AND rules.policy = 'interrupt',
    CASE WHEN added.status = 'running' THEN (SELECT lease_token FROM changed) END,
    coalesce(nullif({EXCESS_OF_DAY}, ''), {EXCESS}),
    s.app_name, s.key, s.last_seq, extract(epoch FROM s.last_event_at)::float8,
    s.state, coalesce(u.state, '{{}}'), coalesce(a.state, '{{}}')
FROM s JOIN rules ON true JOIN decided ON true LEFT JOIN added ON true
LEFT JOIN sessions_app_invocation existing ON existing.session_id = s.id AND existing.client_id = %(client)s
LEFT JOIN sessions_app_userstate u ON u.app_name = s.app_name AND u.user_id = s.user_id
LEFT JOIN sessions_app_appstate a ON a.app_name = s.app_name
WHERE added.status IS NOT NULL OR existing.id IS NOT NULL OR decided.status IN ('refused', 'full', 'spent')""")  # noqa: S608


@dataclass(frozen=True)
class Interrupted:
    """An invocation that a newer message interrupts: already cancelled if it had not begun, else still running."""

    invocation_id: str
    client_id: str
    status: str


async def interrupt_older(session_id: UUID, *, invocation_id: str, by: Actor) -> Sequence[Interrupted]:
    """Request the cancellation of the invocations before a user's newer message. An earlier cancel request stays.

    Queued answers, results of jobs and scheduled tasks are not cancelled, because they must not be lost.

    Args:
        invocation_id: id of the newer message's invocation.
    """
    params = {
        "session": session_id,
        "invocation": invocation_id,
        "by": by.user_pk,
        "by_name": by.name,
        "kept": list(MUST_NOT_BE_LOST),
    }
    return [Interrupted(*row) for row in await fetch_all(_INTERRUPT_OLDER, params)]


_INTERRUPT_OLDER = """
UPDATE sessions_app_invocation i
SET cancel_requested_at = coalesce(i.cancel_requested_at, now()),
    cancelled_by_id = CASE WHEN i.cancel_requested_at IS NULL THEN %(by)s ELSE i.cancelled_by_id END,
    cancelled_by_name = CASE WHEN i.cancel_requested_at IS NULL THEN %(by_name)s ELSE i.cancelled_by_name END,
    status = CASE i.attempts WHEN 0 THEN 'cancelled' ELSE i.status END,
    finished_at = CASE i.attempts WHEN 0 THEN now() END
FROM sessions_app_invocation newer
WHERE newer.invocation_id = %(invocation)s AND i.session_id = %(session)s AND i.id < newer.id
    AND (i.status = 'running'
        OR i.status = 'queued' AND NOT i.client_id ^@ ANY(%(kept)s::text[]))
RETURNING i.invocation_id, i.client_id, i.status"""
