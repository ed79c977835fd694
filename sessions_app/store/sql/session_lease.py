"""Session lease: a lease without an invocation, for a single write to the log such as a rewind."""

from uuid import UUID

from sessions_app.base.statuses import InvocationStatus, sql_list
from sessions_app.errors import StaleLeaseError
from sessions_app.process.pool import fetch_all, fetch_one
from sessions_app.store.sql.leases import BATCH_SIZE


async def acquire(session_id: UUID, *, owner: str, lease_seconds: float) -> int | None:
    """Take the lease of an idle session, and return its fencing token. Messages are queued until its release.

    Return None when the session is leased, has an active invocation, or does not exist. After a crash a sweep takes
    over the lease, see `take_over_expired`.
    """
    query = f"""
        UPDATE sessions_app_session s
        SET lease_token = lease_token + 1, lease_owner = %(owner)s,
            lease_expires_at = now() + make_interval(secs => %(ttl)s)
        WHERE id = %(session)s AND lease_owner = '' AND NOT EXISTS (
            SELECT FROM sessions_app_invocation i
            WHERE i.session_id = s.id AND i.status IN {sql_list(InvocationStatus.active())}
        )
        RETURNING lease_token"""  # noqa: S608
    row = await fetch_one(query, {"session": session_id, "owner": owner, "ttl": lease_seconds})
    return row["lease_token"] if row else None


async def take_over_expired(*, owner: str, lease_seconds: float) -> list[tuple[UUID, int]]:
    """Take over up to `BATCH_SIZE` expired leases without a running invocation; return sessions and fencing tokens.

    Queued invocations keep waiting: after their events, nobody would see that the log had ended with a rewind.
    """
    query = """
        UPDATE sessions_app_session
        SET lease_token = lease_token + 1, lease_owner = %(owner)s,
            lease_expires_at = now() + make_interval(secs => %(ttl)s)
        WHERE id IN (
            SELECT s.id FROM sessions_app_session s
            WHERE lease_owner <> '' AND lease_expires_at < now() AND NOT EXISTS (
                SELECT FROM sessions_app_invocation i WHERE i.session_id = s.id AND i.status = 'running'
            )
            LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        RETURNING id, lease_token"""
    rows = await fetch_all(query, {"owner": owner, "ttl": lease_seconds, "limit": BATCH_SIZE})
    return [(row["id"], row["lease_token"]) for row in rows]


async def require(session_id: UUID, lease_token: int) -> None:
    """Check that the lease is still held.

    Raises:
        StaleLeaseError: the lease was lost.
    """
    query = "SELECT id FROM sessions_app_session WHERE id = %(session)s AND lease_token = %(token)s"
    if await fetch_one(query, {"session": session_id, "token": lease_token}) is None:
        raise StaleLeaseError(f"Another process has taken over session {session_id}.")


async def release(session_id: UUID, lease_token: int) -> bool:
    """Release the lease unless it was lost. Return True if an invocation was queued under the lease."""
    # The caller starts the queue: `enqueue` found the session leased, so it left the invocation to the lease's holder.
    query = """
        UPDATE sessions_app_session s SET lease_owner = '', lease_expires_at = NULL
        WHERE id = %(session)s AND lease_token = %(token)s AND lease_owner <> ''
        RETURNING adk_has_queued(s.id) AS more_is_queued"""
    row = await fetch_one(query, {"session": session_id, "token": lease_token})
    return row is not None and bool(row["more_is_queued"])
