"""Stopping a job: at once while nobody works at it, else by asking its function to stop (design.md)."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from celery import current_app
from django.db.models import F
from django.db.models.functions import Now

from sessions_app.jobs.answer import answer
from sessions_app.jobs.report import show
from sessions_app.models import JobStatus, ToolJob

logger = logging.getLogger(__name__)
CANCELLED = "The job was cancelled."
STOPPED_BY_STAFF = "The job was stopped by staff."


def cancel_job(job_id: UUID, *, by: Any, reason: str = "") -> None:
    """Cancel the job, unless it has ended. The row keeps who asked first, when and why.

    A running function hears of it through `progress`, and by the signal of a soft time limit when it does not call
    that. The model is told once that the job was cancelled.
    """
    job = ToolJob.objects.filter(pk=job_id)
    job.open().filter(cancel_requested_at__isnull=True).update(
        cancel_requested_at=Now(), cancelled_by_id=by, cancel_reason=reason
    )
    if end_cancelled(job_id):
        answer(job_id)
    elif job.filter(status=JobStatus.RUNNING).exists():
        try:
            current_app.control.revoke(str(job_id), terminate=True, signal="SIGUSR1")
        except Exception:  # the broker may be away: the function still hears of it through `progress`
            logger.warning("The worker of job %s could not be signalled", job_id, exc_info=True)


def end_cancelled(job_id: UUID) -> bool:
    """End a job that someone wants stopped and nobody works at. False when there is no such job."""
    idle = ToolJob.objects.idle().filter(pk=job_id)
    error = why_cancelled(job_id)
    end: dict[str, Any] = {"status": JobStatus.CANCELLED, "question": None, "finished_at": Now()}
    if error is None or not idle.update(error=error, **end):
        return False
    show(ToolJob.objects.get(pk=job_id))
    return True


def why_cancelled(job_id: UUID) -> str | None:
    """The sentence for a job that someone wants stopped; None when nobody does."""
    wanted = ToolJob.objects.filter(pk=job_id, cancel_requested_at__isnull=False)
    if not wanted.exists():
        return None
    by_staff = wanted.exclude(cancelled_by=None).exclude(cancelled_by=F("session__user"))
    return STOPPED_BY_STAFF if by_staff.exists() else CANCELLED
