"""A job that took longer than its `time_limit` has failed: the death of its process is no accident to recover from."""

from __future__ import annotations

import logging
from uuid import UUID

from celery.worker.request import Request
from django.db import connection
from django.db.models.functions import Now

from sessions_app.celery_dispatch import send_sweep
from sessions_app.jobs.cancel import why_cancelled
from sessions_app.jobs.run import TOO_LONG, process_name
from sessions_app.models import JobStatus, ToolJob

logger = logging.getLogger(__name__)


class JobRequest(Request):
    """How the parent of a worker's processes follows a job: Celery calls it when it kills the process for the limit."""

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """End the job that is being killed; when that cannot be written, it is lost, as if the worker had died."""
        super().on_timeout(soft, timeout)
        if soft:
            return  # the function is told, and ends the job itself
        try:
            end_overdue(UUID(self.id), process_name(self.hostname, self.worker_pid))
        except Exception:
            logger.exception("Job %s took longer than it may, and that was not written", self.id)
        finally:
            connection.close()  # processes that this one starts later would share it


def end_overdue(job_id: UUID, worker: str) -> None:
    """End the job, if that process is still at it.

    The parent has no event loop, nor may it: its children would inherit a dead one. So the sweep tells the rest.
    """
    cancelled = why_cancelled(job_id)
    written = ToolJob.objects.filter(pk=job_id, status=JobStatus.RUNNING, worker=worker).update(
        status=JobStatus.CANCELLED if cancelled else JobStatus.FAILED,
        error=cancelled or TOO_LONG,
        finished_at=Now(),
    )
    if written:
        send_sweep()
