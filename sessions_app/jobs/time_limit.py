"""Hard time limit of jobs: a job whose process is killed for its `time_limit` fails and is not retried."""

from __future__ import annotations

import logging
from uuid import UUID

from celery.worker.request import Request
from django.db import connection
from django.db.models.functions import Now

from sessions_app.celery_dispatch import send_sweep
from sessions_app.jobs.cancel import cancellation_error
from sessions_app.jobs.run import TIMED_OUT, process_name
from sessions_app.models import JobStatus, ToolJob

logger = logging.getLogger(__name__)


class JobRequest(Request):
    """Celery request of a job. The parent of the worker processes calls `on_timeout` when it kills one of them."""

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """End the job of the killed process. If that fails, the sweep treats the job as lost with its worker."""
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
    """End the job, if `worker` still runs it: as cancelled, or else as failed. Return True when it was ended.

    The function response is left to the sweep: it needs an event loop, and the parent of forked processes must not
    start one, because its children would inherit it in an unusable state.
    """
    cancelled = cancellation_error(job_id)
    is_written = ToolJob.objects.filter(pk=job_id, status=JobStatus.RUNNING, worker=worker).update(
        status=JobStatus.CANCELLED if cancelled else JobStatus.FAILED,
        error=cancelled or TIMED_OUT,
        error_detail=detail,
        finished_at=Now(),
    )
    if is_written:
        send_sweep()
    return bool(is_written)
