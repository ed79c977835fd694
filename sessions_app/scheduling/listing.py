"""Query for the scheduled tasks of a session."""

from __future__ import annotations

from uuid import UUID

from sessions_app.models import ScheduledTask
from sessions_app.process.threads import in_thread


async def tasks_of_session(session_id: UUID) -> list[ScheduledTask]:
    """Return the active and failed tasks of the session, the next task first."""
    return await in_thread(_tasks_of_session, session_id)


def _tasks_of_session(session_id: UUID) -> list[ScheduledTask]:
    # The query is built in the thread, too: comparing with "" makes a connection object in the calling context.
    return list(ScheduledTask.objects.filter(session_id=session_id).shown())
