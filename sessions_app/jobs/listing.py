"""Query for the jobs sent to a browser when it connects to a session."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F

from sessions_app.models import ToolJob
from sessions_app.process.threads import fetch_rows

MAX_LISTED_JOBS = 50


async def open_and_recent_jobs(session_id: UUID) -> list[ToolJob]:
    """Return at most `MAX_LISTED_JOBS` jobs without arguments and results: open jobs, then the last ended jobs."""
    # The cards of all other jobs are in the HTML of the page.
    newest = F("finished_at").desc(nulls_first=True)
    jobs = (
        ToolJob.objects.filter(session_id=session_id).defer("result", "args").order_by(newest, "-created_at")
    )
    return await fetch_rows(jobs[:MAX_LISTED_JOBS])
