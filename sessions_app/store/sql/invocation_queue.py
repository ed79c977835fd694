"""Queue of a session's invocations: add an invocation, and claim it immediately when the session is free.

`enqueue` checks the admission rules, inserts the row, takes the lease and returns the claim in one statement, so a
message to an idle session begins after one round trip. The statement also returns the session's row and state: the
first load of the runner needs no query if the cached events reach as far (`Claim.preloaded`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.types.json import Json, Jsonb

from runtime.context import new_invocation_id
from sessions_app.base.actors import SITE, Actor, ActorKind
from sessions_app.base.client_ids import LOSSLESS_PREFIXES
from sessions_app.process.pool import Row, fetch_all, short
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
from sessions_app.store.sql.leases import Claim


@dataclass(frozen=True)
class Lease:
    """Owner and duration of the lease that a process takes with a claim.

    Attributes:
        versions: versions of the process's apps, by name; the invocation's row keeps that of its app.
    """

    owner: str
    seconds: float
    versions: Mapping[str, str] = field(default_factory=dict)


NO_LEASE = Lease("", 0.0)
"""For a process that claims nothing: the invocation is only queued."""


@dataclass(frozen=True)
class AdmissionRules:
    """Admission rules for a message.

    Attributes:
        policies: queue policies by app name; the key "" holds the policy of all other apps. The default is `enqueue`.
        limits: limits on invocations and on the use of a day. Answers, results of jobs and scheduled tasks must not be
            lost: only the limits on use apply to them.
    """

    policies: Mapping[str, str] = field(default_factory=dict)
    limits: AdmissionLimits = NO_LIMITS

    def limits_of(self, client_id: str) -> AdmissionLimits:
        """Return the limits for the message with this client id."""
        return self.limits.only_of_day() if client_id.startswith(LOSSLESS_PREFIXES) else self.limits


@dataclass(frozen=True)
class NewInvocation:
    """An invocation to queue.

    Attributes:
        message: the message as JSON, without credentials.
        credentials: the credentials of the message, encrypted.
        title: title for a session without a title.
        state_delta: changes of the state, committed with the message.
    """

    session_id: UUID
    _: KW_ONLY
    user_id: Any
    client_id: str
    message: dict[str, Any]
    invocation_id: str = field(default_factory=new_invocation_id)
    by: Actor = SITE
    reason: str = ""
    credentials: str = field(default="", repr=False)
    title: str = ""
    state_delta: Mapping[str, Any] | None = None

    def parameters(self) -> dict[str, Any]:
        return {
            "session": self.session_id,
            "user": self.user_id,
            "client": self.client_id,
            "message": Json(self.message),
            "invocation": self.invocation_id,
            **self.by.columns(),
            "key": self.by.key if self.by.kind == ActorKind.KEY else None,
            "reason": self.reason,
            "credentials": self.credentials,
            "title": self.title,
            "state_delta": Json(dict(self.state_delta or {})),
            "traceparent": self.by.traceparent,
        }


class Admitted(NamedTuple):
    """Invocation that a request has queued, or that an earlier request with the same client id has queued."""

    invocation_id: str
    status: str


@dataclass(frozen=True)
class Queued:
    """Result of `enqueue`.

    Attributes:
        status: status of the invocation; empty when the message was refused.
        claim: the caller's claim when the invocation runs immediately.
        is_repeated: True if an invocation with the client id existed; id and status are of the existing invocation.
        interrupts: True if the queue policy cancels the earlier invocations: see `interrupt_older`.
        refused_by: limit or policy by which the message was refused; no invocation was added.
    """

    invocation_id: str
    status: str
    claim: Claim | None = None
    is_repeated: bool = False
    interrupts: bool = False
    refused_by: AdmissionRefusal | None = None

    @property
    def admitted(self) -> Admitted:
        return Admitted(self.invocation_id, self.status)


async def enqueue(
    new: NewInvocation, *, lease: Lease = NO_LEASE, rules: AdmissionRules = AdmissionRules()
) -> Queued | None:
    """Add an invocation. With a `lease`, claim it immediately when the session has no other active invocation.

    Idempotent: a repeated client id adds nothing and returns the first invocation. Return None when the user has no
    such session, or has deleted it.
    """
    params = {
        **new.parameters(),
        "policies": Jsonb(dict(rules.policies)),
        "owner": lease.owner,
        "ttl": lease.seconds,
        "versions": Jsonb(dict(lease.versions)),
    }
    enqueue_once = partial(fetch_one_counted, _ENQUEUE, params, rules.limits_of(new.client_id))
    # Of two requests with the same client id the second waits for the session's row. Its snapshot is older than the
    # new invocation, so it neither adds nor finds a row; the repeated statement finds it.
    row = await enqueue_once() or await enqueue_once()
    if row is None:
        return None
    return Queued(
        invocation_id=row["invocation_id"],
        status=row["status"],
        claim=_claim(new, row) if row["lease_token"] is not None else None,
        is_repeated=row["is_repeated"],
        interrupts=row["interrupts"],
        refused_by=AdmissionRefusal.named(row["refused_by"]),
    )


def _claim(new: NewInvocation, row: Row) -> Claim:
    """Return the claim of the new invocation, with the session as it was just before, without its events."""
    return Claim(
        session_id=new.session_id,
        app_name=row["app_name"],
        user_id=new.user_id,
        session_key=row["session_key"],
        invocation_id=new.invocation_id,
        client_id=new.client_id,
        message=new.message,
        lease_token=row["lease_token"],
        credentials=new.credentials,
        refused_by=AdmissionRefusal.named(row["claim_refused_by"]),
        actor_kind=new.by.kind,
        actor_name=new.by.name,
        actor_id=new.by.actor_id,
        state_delta=dict(new.state_delta or {}),
        preloaded=Loaded.from_row(row),
    )


# The parts of the statement:
#
#     s        the locked session; no row when the user has no such session
#     rules    the queue policy of its app, and whether the session is free to run the invocation at once
#     decided  the limit or policy that refuses the message, or the status of the new invocation
#     added    the new invocation; no row when the message is refused or its client id is known
#     changed  the session: its lease when the invocation runs at once, its title, its place outside of the archive
#
# Lock order: session row first. The lock keeps `is_free` true until the statement ends. The session's row is updated
# only if something changes: a message that queues behind others leaves it alone. `statement_timestamp()`, since `now()`
# is the start of a transaction that waits for the locks of limits: a run must not start before it was created.
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
        WHEN %(key)s::uuid IS NOT NULL AND {key_has_spent("%(key)s::uuid")} THEN 'key'
        WHEN rules.is_free THEN ''
        WHEN rules.policy = 'reject' THEN 'policy'
        WHEN %(most_queued)s::int > 0 AND adk_queue_is_full(s.id, %(most_queued)s::int) THEN 'queue'
        ELSE ''
    END AS refused_by,
    CASE WHEN rules.is_free AND %(owner)s <> '' THEN 'running' ELSE 'queued' END AS status
    FROM s, rules
), added AS (
    INSERT INTO sessions_app_invocation
        (session_id, invocation_id, client_id, message, state_delta, actor_kind, actor_id, actor_name, address,
        reason, credentials, traceparent, status, owner, attempts, started_at, agent_version)
    SELECT s.id, %(invocation)s, %(client)s, %(message)s, %(state_delta)s, %(actor_kind)s, %(actor_id)s, %(actor_name)s,
        %(address)s::inet, %(reason)s, %(credentials)s, %(traceparent)s, decided.status,
        CASE WHEN decided.status = 'running' THEN %(owner)s ELSE '' END,
        (decided.status = 'running')::int,
        CASE WHEN decided.status = 'running' THEN statement_timestamp() END,
        CASE WHEN decided.status = 'running' THEN coalesce(%(versions)s ->> s.app_name, '') ELSE '' END
    FROM s, decided
    WHERE decided.refused_by = ''
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
SELECT coalesce(added.invocation_id, existing.invocation_id, '') AS invocation_id,
    coalesce(added.status, existing.status, '') AS status,
    CASE WHEN existing.id IS NULL THEN decided.refused_by ELSE '' END AS refused_by,
    existing.id IS NOT NULL AS is_repeated, added.status = 'queued' AND rules.policy = 'interrupt' AS interrupts,
    CASE WHEN added.status = 'running' THEN (SELECT lease_token FROM changed) END AS lease_token,
    coalesce(nullif({EXCEEDED_TODAY}, ''), {EXCEEDED_NOW}) AS claim_refused_by,
    s.app_name, s.key AS session_key, s.id AS session_id, s.last_seq,
    extract(epoch FROM s.last_event_at)::float8 AS last_event_at, s.state AS session_state,
    coalesce(u.state, '{{}}') AS user_state, coalesce(a.state, '{{}}') AS app_state,
    s.last_seq AS skipped, '{{}}'::text[] AS events
FROM s JOIN rules ON true JOIN decided ON true LEFT JOIN added ON true
LEFT JOIN sessions_app_invocation existing ON existing.session_id = s.id AND existing.client_id = %(client)s
LEFT JOIN sessions_app_userstate u ON u.app_name = s.app_name AND u.user_id = s.user_id
LEFT JOIN sessions_app_appstate a ON a.app_name = s.app_name
WHERE added.status IS NOT NULL OR existing.id IS NOT NULL OR decided.refused_by <> ''""")  # noqa: S608


@dataclass(frozen=True)
class Interrupted:
    """Invocation interrupted by a newer message: already cancelled if it had not begun, else still running."""

    invocation_id: str
    client_id: str
    status: str


async def interrupt_older(session_id: UUID, *, invocation_id: str, by: Actor) -> Sequence[Interrupted]:
    """Request the cancellation of the invocations before a user's newer message. An earlier cancel request stays.

    Queued answers, results of jobs and scheduled tasks must not be lost, and stay queued.

    Args:
        invocation_id: id of the newer message's invocation.
    """
    params = {
        "session": session_id,
        "invocation": invocation_id,
        "by": by.user_pk,
        "by_name": by.name,
        "lossless": list(LOSSLESS_PREFIXES),
    }
    return [Interrupted(**row) for row in await fetch_all(_INTERRUPT_OLDER, params)]


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
        OR i.status = 'queued' AND NOT i.client_id ^@ ANY(%(lossless)s::text[]))
RETURNING i.invocation_id, i.client_id, i.status"""
