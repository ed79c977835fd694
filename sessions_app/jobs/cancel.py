"""Stopping a job: at once while nobody works at it, else by asking its function to stop (design.md)."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from celery import current_app
from django.db.models.functions import Now

from sessions_app.jobs.answer import answer
from sessions_app.jobs.report import show
from sessions_app.models import JobStatus, ToolJob

logger = logging.getLogger(__name__)
CANCELLED = "The job was cancelled."


def cancel_job(job_id: UUID) -> None:
    """Cancel the job, unless it has ended.

    A running function hears of it through `progress`, and by the signal of a soft time limit when it does not call
    that. The model is told that the job was cancelled.
    """
    end: dict[str, Any] = {"status": JobStatus.CANCELLED, "error": CANCELLED, "finished_at": Now()}
    idle = ToolJob.objects.filter(pk=job_id, status__in=(JobStatus.QUEUED, JobStatus.WAITING))
    if idle.update(cancel_requested_at=Now(), question=None, **end):
        show(ToolJob.objects.get(pk=job_id))
        answer(job_id)
    elif ToolJob.objects.filter(pk=job_id, status=JobStatus.RUNNING).update(cancel_requested_at=Now()):
        try:
            current_app.control.revoke(str(job_id), terminate=True, signal="SIGUSR1")
        except Exception:  # the broker may be away: the function still hears of it through `progress`
            logger.warning("The worker of job %s could not be signalled", job_id, exc_info=True)
