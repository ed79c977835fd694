"""Execution of a job in a worker: claim it, run its function, write the outcome, queue the function response.

    queued --claim--> running --function returns, fails or is cancelled--> succeeded, failed, cancelled --> response
      ^                  |
      +---- retry -------+   (`sent_at` in the future until it is due)
      +---- lost --------+   (no heartbeat: the sweep)
      +---- answer -- waiting <-- question

The broker may deliver a task twice, and a worker may die at any moment. A claim increments the attempt number, and each
later write has the attempt as a condition, so only the latest attempt writes. The response is queued once, because its
client id is made from the job's id.
"""

import json
import logging
import os
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID

from billiard.exceptions import SoftTimeLimitExceeded
from celery import Task
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from runtime import types
from runtime.tools.tool_result import as_response, is_failure, take_files
from runtime.trace_context import trace_context
from runtime.valid_text import storable, storable_values
from sessions_app.base.statuses import JOB_CANCELLED
from sessions_app.conf import conf
from sessions_app.errors import AgentClosedError
from sessions_app.history.telemetry.trace_contexts import find_trace
from sessions_app.jobs.api import AnswerRequired, JobCancelled, JobError, save_artifact
from sessions_app.jobs.cancel import cancellation_error, end_cancelled_job
from sessions_app.jobs.questions import JobQuestion, record_question
from sessions_app.jobs.report import JobReporter, progress_columns, publish_job
from sessions_app.jobs.response import queue_response
from sessions_app.jobs.soft_limit import SoftLimit
from sessions_app.models import JobStatus, ToolJob
from sessions_app.models.past_attempts import with_failed_attempt
from sessions_app.process.sweeping import claim_once
from sessions_app.secrets.error_detail import describe
from sessions_app.secrets.masking import beginning_of
from sessions_app.sessions.agent_access import usable_names

logger = logging.getLogger(__name__)
TIMED_OUT = gettext_noop("The job exceeded its time limit.")


@dataclass(frozen=True)
class JobRetries:
    """Retries of a job: the exceptions to retry after, and the limit."""

    on: tuple[type[Exception], ...] = ()
    limit: int = 3

    def allows(self, error: Exception, attempts: int) -> bool:
        """Return True if the job is tried again after this exception."""
        return isinstance(error, self.on) and attempts <= self.limit

    def seconds_before(self, attempt: int) -> float:
        """Return the delay before the next attempt: exponential up to five minutes, with jitter."""
        return min(2.0**attempt, 300.0) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


@dataclass(frozen=True)
class JobOutcome:
    """Final status of a job, with its result or error."""

    status: JobStatus
    result: dict[str, Any] | None = None
    error: str = ""
    error_detail: str = ""


class JobWork(Protocol):
    """The call that a job executes."""

    @property
    def retries(self) -> JobRetries:
        """Retries after an exception of `run_here`, read after it."""

    def run_here(self, args: dict[str, Any]) -> Any:
        """Execute the call in this process, and return its result."""


def run_job(work: JobWork, task: Task[Any, None], job_id: UUID) -> None:
    """Run the job, unless it has ended or another worker has claimed it, and queue its function response.

    Args:
        task: the executing Celery task.
    """
    with SoftLimit() as soft_limit:
        # The cancellation may have been requested before a crash or during the delay of a retry.
        end_cancelled_job(job_id)
        job = _claim(job_id, worker=process_name(task.request.hostname, os.getpid()))
        if job is None:
            # Delivered again after the end: the worker may have died before it queued the response.
            queue_response(job_id)
            return
        _log(job, f"begins, attempt {job.attempts}")
        publish_job(job)
        outcome = _run_attempt(work, soft_limit, task, job)
        if isinstance(outcome, JobQuestion):
            if _pause(job, outcome):
                return
            outcome = JobOutcome(JobStatus.CANCELLED, error=cancellation_error(job_id) or JOB_CANCELLED)
        _finish(job, outcome)
        queue_response(job_id)


def _run_attempt(
    work: JobWork, soft_limit: SoftLimit, task: Task[Any, None], job: ToolJob
) -> JobOutcome | JobQuestion:
    """Call the function once. After an exception to retry after, queue the job again and raise Celery's Retry."""
    try:
        trace = find_trace(job.invocation_id)
        with JobReporter(job), trace_context(trace.traceparent if trace else ""):
            return _call_function(work, soft_limit, job)
    except Exception as error:
        # A cancellation may make the function fail in its own way, which is neither an error nor a case for a retry.
        if cancelled := cancellation_error(job.pk):
            return JobOutcome(JobStatus.CANCELLED, error=cancelled)
        retries = work.retries
        if retries.allows(error, job.attempts):
            seconds = retries.seconds_before(job.attempts)
            _queue_retry(job, error, seconds, most_attempts=retries.limit + 1)
            # `max_retries=None`: the job counts its attempts itself.
            raise task.retry(countdown=seconds, max_retries=None) from error
        logger.exception("Job %s failed", job.id, extra=log_fields(job))
        return JobOutcome(JobStatus.FAILED, error=_sentence(error), error_detail=describe(error))


def log_fields(job: ToolJob) -> dict[str, str]:
    """Return the `extra` fields for log lines about a job."""
    return {"job_id": str(job.pk), "invocation_id": job.invocation_id, "session_id": str(job.session_id)}


def _log(job: ToolJob, what: str) -> None:
    fields = {**log_fields(job), "tool": job.tool_name, "status": str(job.status), "attempt": job.attempts}
    logger.info("Job %s of %s %s", job.pk, job.tool_name, what, extra=fields)


def process_name(hostname: str | None, pid: int | str | None) -> str:
    """Return the name of a worker process for `ToolJob.worker`; the parent process finds the attempt by this name."""
    return f"{(hostname or '')[:180]} process {pid}"


def _claim(job_id: UUID, worker: str) -> ToolJob | None:
    """Claim the job; None when it is no longer queued."""
    queued = ToolJob.objects.filter(pk=job_id, status=JobStatus.QUEUED)
    is_claimed = claim_once(
        queued,
        status=JobStatus.RUNNING,
        sends=0,
        worker=worker,
        past_attempts=with_failed_attempt(),
        heartbeat_at=Now(),
        phases=[],
        error="",
        error_detail="",
    )
    return ToolJob.objects.select_related("session").get(pk=job_id) if is_claimed else None


def _call_function(work: JobWork, soft_limit: SoftLimit, job: ToolJob) -> JobOutcome | JobQuestion:
    """Call the function and return its outcome, or its question. Other exceptions propagate."""
    if not usable_names(job.session.user_id, [job.session.app_name]):
        return JobOutcome(JobStatus.FAILED, error=str(AgentClosedError()))
    try:
        with soft_limit.interrupts():
            result = work.run_here(job.args)
            result, files = take_files(result, job.tool_name, job.call_id)
            for file in files:
                file.note_version(save_artifact(file.name, file.part))
        response = as_response(job.tool_name, result)
    except AnswerRequired as pause:
        return pause.question
    except JobCancelled:
        return JobOutcome(JobStatus.CANCELLED, error=cancellation_error(job.pk) or JOB_CANCELLED)
    except SoftTimeLimitExceeded:
        if cancelled := cancellation_error(job.pk):
            return JobOutcome(JobStatus.CANCELLED, error=cancelled)
        return JobOutcome(JobStatus.FAILED, error=TIMED_OUT)
    if is_failure(result):
        reported = {"status": response.get("status"), **_shorten_result(response, job)}
        return JobOutcome(JobStatus.FAILED, reported, error=str(response.get("error", "")))
    return JobOutcome(JobStatus.SUCCEEDED, _shorten_result(response, job))


def _shorten_result(response: dict[str, Any], job: ToolJob) -> dict[str, Any]:
    """Return the result, or, above `job_result_limit`, a reference to an artifact with the result."""
    text = json.dumps(response, ensure_ascii=False)
    if len(text) <= conf().job_result_limit:
        return response
    filename = f"{job.tool_name}-{str(job.pk)[:8]}.json"
    save_artifact(filename, types.Part.from_bytes(data=text.encode(), mime_type="application/json"))
    return {
        "message": f"The result has {len(text)} characters; the complete result is in the file {filename!r}.",
        "file": filename,
        "beginning": beginning_of(text, 1000),
    }


def _pause(job: ToolJob, question: JobQuestion) -> bool:
    """Store the question and pause the job. Return False when it was cancelled or claimed by a later attempt."""
    # A paused run does not count as an attempt: the next run gets the same number, and all retries are left. The number
    # still fences. Only its holder gives it back, by its last write, and runs lost before have smaller numbers.
    with transaction.atomic():
        is_written = (
            ToolJob.objects.of_attempt(job)
            .filter(cancel_requested_at__isnull=True)
            .update(
                status=JobStatus.WAITING,
                question=question.as_json(),
                attempts=F("attempts") - 1,
                **progress_columns(job),
            )
        )
        if is_written:
            job.refresh_from_db()
            record_question(job)
    if is_written:
        _log(job, "asks a question and waits")
        publish_job(job)
    return bool(is_written)


def _queue_retry(job: ToolJob, error: Exception, seconds: float, *, most_attempts: int) -> None:
    # Until the retry is due `sent_at` is in the future, and the sweep skips the job.
    due = Now() + timedelta(seconds=seconds)
    sentence = gettext_noop("{0} It will be retried.").format(_sentence(error))
    texts = {"error": storable(sentence), "error_detail": describe(error)}
    columns = {"status": JobStatus.QUEUED, "sent_at": due, "most_attempts": most_attempts, **texts}
    if ToolJob.objects.of_attempt(job).update(**columns):
        job.refresh_from_db()
        _log(job, f"is tried again in {seconds:.0f} s")
        publish_job(job)


def _finish(job: ToolJob, outcome: JobOutcome) -> None:
    """Write the outcome, unless a later attempt has claimed the job."""
    is_written = ToolJob.objects.of_attempt(job).update(
        status=outcome.status,
        result=storable_values(outcome.result),
        error=storable(outcome.error),
        error_detail=outcome.error_detail,
        finished_at=Now(),
        **progress_columns(job),
    )
    if is_written:
        job.refresh_from_db()
        _log(job, f"ends as {outcome.status}")
        publish_job(job)


def _sentence(error: Exception) -> str:
    """Return the sentence for the person and the model."""
    # Only a JobError is quoted: the text of another exception may name hosts or secrets.
    if isinstance(error, JobError):
        return gettext_noop("The job failed: {0}").format(error)
    return gettext_noop("The job failed.")
