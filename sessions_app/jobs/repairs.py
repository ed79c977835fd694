"""Repairs of jobs: send due jobs, and repair jobs left unsent, lost or unanswered by a crash."""

from datetime import timedelta
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Now

from sessions_app.base.statuses import JOB_CANCELLED
from sessions_app.conf import conf
from sessions_app.jobs.cancel import end_cancelled_job
from sessions_app.jobs.forced_end import forced_end_repair
from sessions_app.jobs.report import publish_job
from sessions_app.jobs.response import queue_response
from sessions_app.models import JobStatus, ToolJob
from sessions_app.models.tool_job import ToolJobQuerySet
from sessions_app.process import threads
from sessions_app.process.celery_dispatch import mark_sent, send_job
from sessions_app.process.sweeping import SEND_GRACE, OverdueRows, Repair, resend_pause

# A job that kills its worker each time must not do so for ever.
MAX_ATTEMPTS = 5


def job_repairs() -> list[Repair]:
    return [
        forced_end_repair(),
        OverdueRows(_lost, _recover),
        OverdueRows(_cancelled, lambda job: end_cancelled_job(job.pk)),
        OverdueRows(_to_send, _send),
        OverdueRows(_unanswered, _answer),
    ]


def _undelivered() -> ToolJobQuerySet:
    return ToolJob.objects.undelivered().order_by("created_at", "pk")


def _unanswered() -> ToolJobQuerySet:
    """Return the ended jobs without a queued function response. Jobs of a deleted session wait for its restoration."""
    return _undelivered().ended().filter(session__deleted_at=None)


def _lost() -> ToolJobQuerySet:
    """Return the running jobs without a recent heartbeat."""
    silence = timedelta(seconds=conf().job_lost_seconds)
    return ToolJob.objects.filter(status=JobStatus.RUNNING, heartbeat_at__lt=Now() - silence)


def _recover(job: ToolJob) -> None:
    """Queue a lost job again; fail it after `MAX_ATTEMPTS`."""
    # The condition again, with the attempt: the worker may have written a heartbeat, or another sweep the recovery.
    if _lost().filter(pk=job.pk, attempts=job.attempts).update(**_recovery_values(job)):
        job.refresh_from_db()
        publish_job(job)


def _recovery_values(job: ToolJob) -> dict[str, Any]:
    lost = {"lost_attempts": F("lost_attempts") + 1}
    # A delivered job must not run again: its call was rewound, or answered by a stop.
    if job.delivered_at is not None:
        return {**lost, "status": JobStatus.CANCELLED, "finished_at": Now(), "error": JOB_CANCELLED}
    if job.attempts < MAX_ATTEMPTS:
        error = "The worker died; the job will be retried."
        queued = {"status": JobStatus.QUEUED, "sent_at": None, "most_attempts": MAX_ATTEMPTS, "error": error}
        return {**lost, **queued}
    error = f"The worker died in attempt {job.attempts}; the job will not be retried."
    return {**lost, "status": JobStatus.FAILED, "finished_at": Now(), "error": error}


def _cancelled() -> ToolJobQuerySet:
    """Return the cancelled jobs that are not running."""
    # Workers drop revoked tasks, so no worker ends these jobs.
    return _undelivered().idle().filter(cancel_requested_at__isnull=False)


def _to_send() -> ToolJobQuerySet:
    """Return due jobs never sent, or sent long ago and perhaps lost by the broker."""
    immediate = Q(run_at__isnull=True, created_at__lt=Now() - SEND_GRACE)
    unsent = Q(sent_at__isnull=True) & (immediate | Q(run_at__lte=Now()))
    overdue = Q(sent_at__lt=Now() - resend_pause())
    return _undelivered().filter(unsent | overdue, status=JobStatus.QUEUED)


def _send(job: ToolJob) -> None:
    """Send the job. Sending twice is safe: a job is claimed once."""
    send_job(job.pk, job.task_name)
    threads.run(mark_sent(job.pk))


def _answer(job: ToolJob) -> None:
    publish_job(job)
    queue_response(job.pk)
