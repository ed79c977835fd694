"""Forced end of jobs: the process of a job is killed, and its parent ends the job without a retry.

Celery kills the process at the hard time limit, the `time_limit` of a job (`JobRequest`). The site kills the process of
a cancelled job that keeps running: the function may swallow the exceptions of a cancellation, or block. The sweep
asks all Celery workers, and the parent of the process that runs the job ends the job. Jobs without a heartbeat are left
to the repair of lost jobs.
"""

import logging
import signal
from datetime import timedelta
from typing import Any
from uuid import UUID

from celery import current_app
from celery.worker.control import control_command
from celery.worker.request import Request
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from sessions_app.conf import conf
from sessions_app.jobs.cancel import cancellation_error
from sessions_app.jobs.run import TIMED_OUT, process_name
from sessions_app.models import JobStatus, ToolJob
from sessions_app.process.celery_dispatch import offer_sweep
from sessions_app.process.sweeping import OverdueRows, Repair

logger = logging.getLogger(__name__)
KILL = "adk_kill_job"
DETAIL = "The function went on for more than {0:g} s after its cancellation; its process was killed."


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
            logger.exception(
                "Job %s exceeded its time limit, which could not be recorded",
                self.id,
                extra={"job_id": str(self.id)},
            )
        finally:
            connection.close()  # child processes forked later would share it


def end_killed_job(job_id: UUID, worker: str, detail: str = "") -> bool:
    """End the job if `worker` still runs it. Return True if the job was ended.

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
        offer_sweep()
    return bool(is_written)


def forced_end_repair() -> Repair:
    """Return the repair to end jobs by force. Each sweep asks again until the job has ended."""
    return OverdueRows(_still_running_after_cancel, _ask_workers)


def _still_running_after_cancel() -> QuerySet[ToolJob]:
    """Return the jobs still running, with heartbeats, after the grace of their cancellation."""
    grace = timedelta(seconds=conf().cancel_grace_seconds)
    silence = timedelta(seconds=conf().job_lost_seconds)
    return ToolJob.objects.filter(
        status=JobStatus.RUNNING,
        cancel_requested_at__lt=Now() - grace,
        heartbeat_at__gte=Now() - silence,
    )


def _ask_workers(job: ToolJob) -> None:
    current_app.control.broadcast(KILL, arguments={"job_id": str(job.pk), "process": job.worker})


@control_command(name=KILL)
def kill_process_of_job(state: Any, job_id: str, process: str) -> None:
    """End the job and kill the process, if it is a child of this worker and runs the job.

    Called by Celery in the parent of the worker's processes.

    Args:
        process: name of the process, as in `ToolJob.worker`.
    """
    own = process_name(state.hostname, "")
    if not process.startswith(own):
        return
    pid = int(process.removeprefix(own))
    if not _runs(state.consumer.pool, job_id, pid):
        return
    # The row first: if the function has just ended by itself, nothing is written and the process must live.
    try:
        has_ended = end_killed_job(UUID(job_id), process, DETAIL.format(conf().cancel_grace_seconds))
    finally:
        connection.close()  # child processes forked later would share it
    if has_ended:
        state.consumer.pool.terminate_job(pid, signal.SIGKILL)


def _runs(pool: Any, job_id: str, pid: int) -> bool:
    """Return True if a process with this pid runs the job for this parent."""
    # The private records of Celery's pool protect other processes from the kill: a child of an earlier parent may
    # have had the same pid. Celery's public list of requests forgets a task as soon as its cancellation revokes it.
    results = pool._pool._cache.values()
    return any(result.correlation_id == job_id and pid in result.worker_pids() for result in results)
