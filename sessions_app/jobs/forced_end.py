"""Forced end of jobs: the process of a function that goes on long after its cancellation is killed.

A function may swallow the exceptions of a cancellation, or block. The sweep asks all workers. The parent whose worker
process runs the job ends the job and kills that process. Lost jobs have a repair of their own.
"""

from __future__ import annotations

import signal
from datetime import timedelta
from typing import Any
from uuid import UUID

from celery import current_app
from celery.worker.control import control_command
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from sessions_app.conf import conf
from sessions_app.jobs.run import process_name
from sessions_app.jobs.time_limit import end_killed_job
from sessions_app.models import JobStatus, ToolJob
from sessions_app.sweeping import OverdueRows, Repair

KILL = "adk_kill_job"
DETAIL = "The function went on for more than {0:g} seconds after its cancellation; its process was killed."


def forced_end_repair() -> Repair:
    """Return the repair that ends jobs by force. Until a job has ended, each sweep asks again."""
    return OverdueRows(_ignoring_their_cancellation, _ask_workers)


def _ignoring_their_cancellation() -> QuerySet[ToolJob]:
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
    """End the job and kill the process, if this parent runs the job in it.

    Celery calls this in the parent of the worker processes.
    """
    own = process_name(state.hostname, "")
    if not process.startswith(own):
        return
    pid = int(process.removeprefix(own))
    if not _runs(state.consumer.pool, job_id, pid):
        return
    try:
        has_ended = end_killed_job(UUID(job_id), process, DETAIL.format(conf().cancel_grace_seconds))
    finally:
        connection.close()  # child processes forked later would share it
    if has_ended:
        state.consumer.pool.terminate_job(pid, signal.SIGKILL)


def _runs(pool: Any, job_id: str, pid: int) -> bool:
    """True when the process runs the job for this parent: the process of an earlier parent may have had the same pid.

    The pool is asked, because Celery forgets its request as soon as the cancellation revokes the task.
    """
    results = pool._pool._cache.values()
    return any(result.correlation_id == job_id and pid in result.worker_pids() for result in results)
