"""The wish to stop an invocation. It stands in the row: messages may be lost, processes may die, before it is heard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sessions_app import client_ids
from sessions_app.db.leases import Claim
from sessions_app.db.pool import fetch_one


@dataclass(frozen=True)
class CancelRequest:
    """An invocation that someone wants stopped.

    Attributes:
        status: after the request. `cancelled`: it had not begun. `queued`: a process had begun it and left it, or it
            is an answer; whoever claims it next ends it. An end that it had come to before stays.
        error: what the person is told of it.
    """

    client_id: str
    status: str
    error: str


async def request_cancel(
    session_id: UUID, invocation_id: str, *, by: Any, reason: str, error_code: str, error_message: str
) -> CancelRequest | None:
    """Write down who wants an invocation stopped, and why; a message that has not begun ends here.

    The first request counts. Returns None when the session has no such invocation.
    """
    params = {
        "session": session_id,
        "invocation": invocation_id,
        "by": by,
        "reason": reason,
        "code": error_code,
        "message": error_message,
        "answers": [client_ids.ANSWER, client_ids.JOB],
    }
    row = await fetch_one(_REQUEST_CANCEL, params)
    return CancelRequest(*row) if row else None


# An answer that has not begun does not end here: whoever claims it writes it into the log, where its call waits for it.
_REQUEST_CANCEL = """
WITH known AS (
    SELECT id, attempts = 0 AND NOT client_id ^@ ANY(%(answers)s::text[]) AS ends_here FROM sessions_app_invocation
    WHERE session_id = %(session)s AND invocation_id = %(invocation)s AND status IN ('queued', 'running') FOR UPDATE
), asked AS (
    UPDATE sessions_app_invocation i
    SET cancel_requested_at = coalesce(i.cancel_requested_at, now()),
        cancelled_by_id = CASE WHEN i.cancel_requested_at IS NULL THEN %(by)s ELSE i.cancelled_by_id END,
        cancel_reason = CASE WHEN i.cancel_requested_at IS NULL THEN %(reason)s ELSE i.cancel_reason END,
        status = CASE WHEN known.ends_here THEN 'cancelled' ELSE i.status END,
        error_code = CASE WHEN known.ends_here THEN %(code)s ELSE i.error_code END,
        error_message = CASE WHEN known.ends_here THEN %(message)s ELSE i.error_message END,
        finished_at = CASE WHEN known.ends_here THEN now() END
    FROM known WHERE i.id = known.id
    RETURNING i.client_id, i.status, i.error_message
)
SELECT client_id, status, error_message FROM asked
UNION ALL
SELECT client_id, status, error_message FROM sessions_app_invocation
WHERE session_id = %(session)s AND invocation_id = %(invocation)s AND NOT EXISTS (SELECT FROM asked)"""


async def is_stopped_by_staff(claim: Claim) -> bool:
    """Whether the wish to stop it is somebody else's than the person's whose session it is."""
    query = """
        SELECT FROM sessions_app_invocation i JOIN sessions_app_session s ON s.id = i.session_id
        WHERE i.session_id = %(session)s AND i.invocation_id = %(invocation)s AND i.cancelled_by_id <> s.user_id"""
    params = {"session": claim.session_id, "invocation": claim.invocation_id}
    return await fetch_one(query, params) is not None
