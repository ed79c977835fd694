"""Hard time limit of jobs: at its `time_limit` the process is killed, and the job fails without a retry."""

from __future__ import annotations

import logging
from uuid import UUID

from celery.worker.request import Request
from django.db import connection
from django.db.models.functions import Now

from sessions_app.jobs.cancel import cancellation_error
from sessions_app.jobs.run import TIMED_OUT, process_name
from sessions_app.models import JobStatus, ToolJob
from sessions_app.process.celery_dispatch import send_sweep

logger = logging.getLogger(__name__)


class JobRequest(Request):
    """Celery request of a job. The parent of the worker processes calls `on_timeout` when it kills a process."""

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """End the job of the killed process. If this fails, the sweep finds the job lost."""
        super().on_timeout(soft, timeout)
        if soft:
            return  # the function receives SoftTimeLimitExceeded and ends the job
        try:
            end_killed_job(UUID(self.id), process_name(self.hostname, self.worker_pid))
        except Exception:
            logger.exception("Job %s exceeded its time limit, which could not be recorded", self.id)
        finally:
            connection.close()  # child processes forked later would share it


def end_killed_job(job_id: UUID, worker: str, detail: str = "") -> bool:
    """End the job if `worker` still runs it. Return True when the job was ended.

    The job becomes cancelled if its cancellation was requested, and otherwise failed.

    Args:
        worker: name of the killed process, as in `ToolJob.worker`.
        detail: text for staff.
    """
    cancelled = cancellation_error(job_id)
    is_written = ToolJob.objects.filter(pk=job_id, status=JobStatus.RUNNING, worker=worker).update(
        status=JobStatus.CANCELLED if cancelled else JobStatus.FAILED,
        error=cancelled or TIMED_OUT,
        error_detail=detail,
        finished_at=Now(),
    )
    if is_written:
        # The sweep queues the function response. Queueing needs an event loop, which the parent must not start: its
        # forked children would inherit the loop in an unusable state.
        send_sweep()
    return bool(is_written)
