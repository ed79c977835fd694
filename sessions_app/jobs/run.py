"""What a worker does with a job: claim it, run its function, write the result, have it answered.

Each step is safe to repeat: a job is claimed under an attempt number, and only the latest attempt may write.
"""

from __future__ import annotations

import json
import logging
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from billiard.exceptions import SoftTimeLimitExceeded
from celery import Task
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from runtime import types
from runtime.tools.tool_result import as_response, is_refusal
from sessions_app.codec import storable, storable_values
from sessions_app.conf import conf
from sessions_app.jobs.answer import answer
from sessions_app.jobs.api import JobAsks, JobCancelled, save_artifact
from sessions_app.jobs.cancel import CANCELLED, end_cancelled, why_cancelled
from sessions_app.jobs.questions import Question
from sessions_app.jobs.report import Reporter, show
from sessions_app.models import JobStatus, ToolJob

logger = logging.getLogger(__name__)
TOO_LONG = "The job took longer than it may."


@dataclass(frozen=True)
class RetryPolicy:
    """After which exceptions a job is tried again, and how often."""

    on: tuple[type[Exception], ...] = ()
    limit: int = 3

    def seconds_before(self, attempt: int) -> float:
        """How long to wait before the next attempt: twice as long each time, up to five minutes, with some chance."""
        return min(2.0**attempt, 300.0) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


@dataclass(frozen=True)
class JobEnd:
    """How a job came out."""

    status: JobStatus
    result: dict[str, Any] | None = None
    error: str = ""


def work(
    run: Callable[[dict[str, Any]], Any], policy: RetryPolicy, task: Task[Any, None], job_id: UUID
) -> None:
    """Do the job, unless it is done or someone else is at it, and have its call answered."""
    # Its worker may have died after somebody asked to stop it, or it was to be tried again.
    end_cancelled(job_id)
    job = _claim(job_id, worker=process_name(task.request.hostname, os.getpid()))
    if job is None:
        answer(job_id)
        return
    show(job)
    try:
        with Reporter(job):
            end: JobEnd | Question = _outcome(run, job)
    except Exception as error:
        if cancelled := why_cancelled(job_id):
            end = JobEnd(JobStatus.CANCELLED, error=cancelled)
        elif isinstance(error, policy.on) and job.attempts <= policy.limit:
            seconds = policy.seconds_before(job.attempts)
            _queue_again(job, error, seconds)
            raise task.retry(countdown=seconds, max_retries=None) from error
        else:
            logger.exception("Job %s failed", job.id)
            end = JobEnd(JobStatus.FAILED, error=f"The job failed: {error}")
    if isinstance(end, Question):
        if _let_wait(job, end):
            return
        end = JobEnd(JobStatus.CANCELLED, error=why_cancelled(job_id) or CANCELLED)
    _finish(job, end)
    answer(job_id)


def process_name(hostname: str | None, pid: int | str | None) -> str:
    """What a job's row calls the process that is at it: so its parent, too, can tell which attempt that was."""
    return f"{(hostname or '')[:180]} process {pid}"


def _claim(job_id: UUID, worker: str) -> ToolJob | None:
    """Take a queued job. None when it is finished, cancelled, or another worker has it."""
    mine = ToolJob.objects.filter(pk=job_id, status=JobStatus.QUEUED)
    claimed = mine.update(
        status=JobStatus.RUNNING,
        attempts=F("attempts") + 1,
        worker=worker,
        started_at=Now(),
        heartbeat_at=Now(),
        error="",
    )
    return ToolJob.objects.select_related("session").get(pk=job_id) if claimed else None


def _outcome(run: Callable[[dict[str, Any]], Any], job: ToolJob) -> JobEnd | Question:
    """Call the function; what it raises comes out, but for requests to stop and questions to the person."""
    try:
        result = run(job.args)
        response = as_response(job.tool_name, result)
    except JobAsks as asks:
        return asks.question
    except JobCancelled:
        return JobEnd(JobStatus.CANCELLED, error=why_cancelled(job.pk) or CANCELLED)
    except SoftTimeLimitExceeded:
        if cancelled := why_cancelled(job.pk):
            return JobEnd(JobStatus.CANCELLED, error=cancelled)
        return JobEnd(JobStatus.FAILED, error=TOO_LONG)
    if is_refusal(result):
        return JobEnd(JobStatus.FAILED, response, error=str(response.get("error", "")))
    return JobEnd(JobStatus.SUCCEEDED, _fitting(response, job))


def _fitting(response: dict[str, Any], job: ToolJob) -> dict[str, Any]:
    """The result, or where it is kept when it is too large for an event."""
    text = json.dumps(response, ensure_ascii=False)
    if len(text) <= conf().job_result_limit:
        return response
    filename = f"{job.tool_name}-{str(job.pk)[:8]}.json"
    save_artifact(filename, types.Part.from_bytes(data=text.encode(), mime_type="application/json"))
    return {
        "message": f"The result has {len(text)} characters; it is kept whole as the file {filename!r}.",
        "file": filename,
        "beginning": text[:1000],
    }


def _let_wait(job: ToolJob, question: Question) -> bool:
    """Leave the job to the person; False when it was cancelled, or a later attempt has taken over.

    This run is over and was no failure: it does not count as an attempt, and its number may be given anew.
    """
    written = (
        _mine(job)
        .filter(cancel_requested_at__isnull=True)
        .update(
            status=JobStatus.WAITING,
            question=question.as_json(),
            attempts=F("attempts") - 1,
            progress_done=job.progress_done,
            progress_total=job.progress_total,
            progress_message=job.progress_message,
            artifacts=job.artifacts,
        )
    )
    if written:
        job.refresh_from_db()
        show(job)
    return bool(written)


def _queue_again(job: ToolJob, error: Exception, seconds: float) -> None:
    """Let the next attempt have it after this time; until then it counts as sent, so that the sweep leaves it alone."""
    due = timezone.now() + timedelta(seconds=seconds)
    if _mine(job).update(status=JobStatus.QUEUED, error=storable(str(error)), sent_at=due):
        job.refresh_from_db()
        show(job)


def _finish(job: ToolJob, end: JobEnd) -> None:
    """Write the end, unless a later attempt has taken over."""
    progress = {"progress_done": job.progress_done, "progress_total": job.progress_total}
    written = _mine(job).update(
        status=end.status,
        result=storable_values(end.result),
        error=storable(end.error),
        artifacts=job.artifacts,
        progress_message=job.progress_message,
        finished_at=Now(),
        **progress,
    )
    if written:
        job.refresh_from_db()
        show(job)


def _mine(job: ToolJob) -> QuerySet[ToolJob]:
    return ToolJob.objects.filter(pk=job.pk, status=JobStatus.RUNNING, attempts=job.attempts)
