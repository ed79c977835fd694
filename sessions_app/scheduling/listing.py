"""Query for the scheduled tasks of a session."""

from __future__ import annotations

from uuid import UUID

from sessions_app.db.threads import fetch_rows
from sessions_app.models import ScheduledTask


async def tasks_of_session(session_id: UUID) -> list[ScheduledTask]:
    """Return the active and failed tasks of the session, the next one first."""
    return await fetch_rows(ScheduledTask.objects.filter(session_id=session_id).shown())
