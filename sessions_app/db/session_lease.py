"""A session's lease without an invocation: for who writes into the log by themselves while nothing else does."""

from __future__ import annotations

from uuid import UUID

from sessions_app.db.pool import fetch_one


async def acquire(session_id: UUID, *, owner: str, lease_seconds: float) -> int | None:
    """Take the lease; what is sent meanwhile queues. Returns its token; None when something runs or is queued.

    Whoever dies with it is helped by the sweep, as with any lease.
    """
    query = """
        UPDATE sessions_app_session s
        SET lease_token = lease_token + 1, lease_owner = %(owner)s,
            lease_expires_at = now() + make_interval(secs => %(ttl)s)
        WHERE id = %(session)s AND lease_owner = '' AND NOT EXISTS (
            SELECT FROM sessions_app_invocation i
            WHERE i.session_id = s.id AND i.status IN ('queued', 'running')
        )
        RETURNING lease_token"""
    row = await fetch_one(query, {"session": session_id, "owner": owner, "ttl": lease_seconds})
    return row[0] if row else None


async def release(session_id: UUID, lease_token: int) -> bool:
    """Give the lease back, unless it was lost. Returns whether something has been queued meanwhile."""
    query = """
        UPDATE sessions_app_session s SET lease_owner = '', lease_expires_at = NULL
        WHERE id = %(session)s AND lease_token = %(token)s AND lease_owner <> ''
        RETURNING EXISTS (
            SELECT FROM sessions_app_invocation i WHERE i.session_id = s.id AND i.status = 'queued'
        )"""
    row = await fetch_one(query, {"session": session_id, "token": lease_token})
    return bool(row and row[0])
