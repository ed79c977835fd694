"""Search of sessions by app, user and session key, with which clients of the ADK API name a session."""

from __future__ import annotations

from uuid import UUID

from sessions_app.process.pool import fetch_one
from sessions_app.store.sql.event_log import SessionKey


async def find_session(key: SessionKey) -> tuple[UUID, int] | None:
    """Return primary key and last `seq` of a session; None when there is no such session, or it is deleted."""
    query = """
        SELECT id, last_seq FROM sessions_app_session
        WHERE app_name = %(app)s AND user_id = %(user)s AND key = %(key)s AND deleted_at IS NULL"""
    row = await fetch_one(query, dict(zip(("app", "user", "key"), key, strict=True)))
    return (row["id"], row["last_seq"]) if row else None
