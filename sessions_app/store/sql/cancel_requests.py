"""Cancel requests, stored in the invocation's row: channel messages can be lost, and processes die.

The heartbeat of the process which runs the invocation reads the request (`leases.renew`), should the message be lost.
"""

from dataclasses import dataclass
from uuid import UUID

from sessions_app.base import client_ids
from sessions_app.base.actors import Act, ActionKind, Actor, ActorKind
from sessions_app.base.statuses import InvocationStatus
from sessions_app.models.session_act import LOCKED_SESSION, act_parameter, insert_act
from sessions_app.process.pool import fetch_one
from sessions_app.store.sql.leases import Claim


@dataclass(frozen=True)
class CancelRequest:
    """State of an invocation after a request to cancel it.

    Attributes:
        status: `cancelled` for an invocation that had not begun. `queued` for an answer, a waiting invocation, or an
            invocation that an earlier process had begun: the next claim ends these. `running` while a process runs the
            invocation. An ended invocation keeps its status.
        error: error message of the row, shown to the person.
    """

    client_id: str
    status: str
    error: str


async def request_cancel(
    session_id: UUID, invocation_id: str, *, by: Actor, reason: str, error_code: str, error_message: str
) -> CancelRequest | None:
    """Store who cancels an invocation, and why. The first request counts.

    A message that has not begun ends immediately. Only staff can stop a waiting invocation: it is queued, and ended by
    the process that claims it. Return None when the session has no such invocation.
    """
    params = {
        "session": session_id,
        "invocation": invocation_id,
        "by": by.user_pk,
        "by_name": by.name,
        "reason": reason,
        "code": error_code,
        "message": error_message,
        "act": act_parameter(Act(by, ActionKind.STOP, ("invocation", invocation_id), reason)),
        "statuses": list(
            InvocationStatus.open() if by.kind == ActorKind.STAFF else InvocationStatus.active()
        ),
        "answers": [client_ids.ANSWER, client_ids.JOB],
    }
    row = await fetch_one(_REQUEST_CANCEL, params)
    return CancelRequest(**row) if row else None


# A queued answer does not end here: its call waits for a function response, which the claiming process appends.
# The final SELECT reads the old snapshot, so an updated row would have its earlier status there: hence NOT EXISTS.
_REQUEST_CANCEL = f"""
WITH locked AS {LOCKED_SESSION}, target AS (
    SELECT i.id, i.attempts = 0 AND NOT i.client_id ^@ ANY(%(answers)s::text[]) AS ends_here,
        i.cancel_requested_at IS NULL AS is_first
    FROM locked JOIN sessions_app_invocation i ON i.session_id = locked.id
    WHERE i.invocation_id = %(invocation)s
        AND i.status = ANY(%(statuses)s) FOR UPDATE OF i
), updated AS (
    UPDATE sessions_app_invocation i
    SET cancel_requested_at = coalesce(i.cancel_requested_at, now()),
        cancelled_by_id = CASE WHEN i.cancel_requested_at IS NULL THEN %(by)s ELSE i.cancelled_by_id END,
        cancelled_by_name = CASE WHEN i.cancel_requested_at IS NULL THEN %(by_name)s ELSE i.cancelled_by_name END,
        cancel_reason = CASE WHEN i.cancel_requested_at IS NULL THEN %(reason)s ELSE i.cancel_reason END,
        status = CASE WHEN target.ends_here THEN 'cancelled' WHEN i.status = 'waiting' THEN 'queued' ELSE i.status END,
        error_code = CASE WHEN target.ends_here THEN %(code)s ELSE i.error_code END,
        error_message = CASE WHEN target.ends_here THEN %(message)s ELSE i.error_message END,
        finished_at = CASE WHEN target.ends_here THEN now() END
    FROM target WHERE i.id = target.id
    RETURNING i.client_id, i.status, i.error_message AS error
), act AS ({insert_act("(SELECT locked.id FROM locked, target WHERE target.is_first)")}
)
SELECT client_id, status, error FROM updated
UNION ALL
SELECT client_id, status, error_message FROM sessions_app_invocation
WHERE session_id = %(session)s AND invocation_id = %(invocation)s AND NOT EXISTS (SELECT FROM updated)"""  # noqa: S608


async def is_stopped_by_staff(claim: Claim) -> bool:
    """Return True if staff requested the cancellation in the admin."""
    # Read from the record of the act: `cancelled_by` does not tell, since staff may stop an invocation in a session of
    # their own, and their account may have been deleted.
    # A retry withdraws the request but keeps its act, which is older than a later request.
    query = """
        SELECT FROM sessions_app_invocation i JOIN sessions_app_sessionact a ON a.session_id = i.session_id
        WHERE i.session_id = %(session)s AND i.invocation_id = %(invocation)s AND a.at >= i.cancel_requested_at
            AND a.subject_kind = 'invocation' AND a.subject_id = i.invocation_id
            AND a.action = %(stop)s AND a.actor_kind = %(staff)s"""
    params = {
        "session": claim.session_id,
        "invocation": claim.invocation_id,
        "stop": ActionKind.STOP,
        "staff": ActorKind.STAFF,
    }
    return await fetch_one(query, params) is not None
