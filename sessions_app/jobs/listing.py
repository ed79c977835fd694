"""Query for the jobs of a session that a browser must hear of when it connects."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F

from sessions_app.db.threads import fetch_rows
from sessions_app.models import ToolJob

MAX_LISTED_JOBS = 50


async def open_and_recent_jobs(session_id: UUID) -> list[ToolJob]:
    """Return at most `MAX_LISTED_JOBS` jobs without their results: the open ones, then those that ended last.

    The page has the cards of all other jobs in its HTML.
    """
    newest = F("finished_at").desc(nulls_first=True)
    jobs = (
        ToolJob.objects.filter(session_id=session_id).defer("result", "args").order_by(newest, "-created_at")
    )
    return await fetch_rows(jobs[:MAX_LISTED_JOBS])
