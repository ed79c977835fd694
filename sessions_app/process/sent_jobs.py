"""Jobs that the broker has accepted."""

from __future__ import annotations

from uuid import UUID

from sessions_app.process.pool import fetch_one


async def mark_sent(job_id: UUID) -> None:
    """Store that the broker has accepted the job.

    A later `sent_at` stays: the job may have run meanwhile and be scheduled for its next attempt.
    """
    query = """
        UPDATE sessions_app_tooljob SET sent_at = greatest(sent_at, now()), sends = sends + 1
        WHERE id = %(job)s RETURNING id"""
    await fetch_one(query, {"job": job_id})
