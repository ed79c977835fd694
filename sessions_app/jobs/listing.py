"""Query for the jobs of a session."""

from __future__ import annotations

from uuid import UUID

from sessions_app.db.threads import fetch_rows
from sessions_app.models import ToolJob


async def jobs_of_session(session_id: UUID) -> list[ToolJob]:
    """Return all jobs of the session, oldest first."""
    return await fetch_rows(ToolJob.objects.filter(session_id=session_id).order_by("created_at"))
