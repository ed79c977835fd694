"""Query for the scheduled tasks of a session."""

from __future__ import annotations

from uuid import UUID

from sessions_app.models import ScheduledTask


async def tasks_of_session(session_id: UUID) -> list[ScheduledTask]:
    """Return the active and failed tasks of the session, the next one first."""
    return [task async for task in ScheduledTask.objects.filter(session_id=session_id).shown()]
