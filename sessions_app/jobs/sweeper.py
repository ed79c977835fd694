"""Jobs whose time has come are sent; unsent, lost and unanswered ones, which a crash left, are taken up again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Greatest, Now
from django.utils import timezone

from sessions_app.celery_dispatch import send_job
from sessions_app.conf import conf
from sessions_app.jobs.answer import answer
from sessions_app.jobs.cancel import CANCELLED, IDLE, end_cancelled
from sessions_app.jobs.report import show
from sessions_app.models import JobStatus, ToolJob
from sessions_app.models.tool_job import FINISHED

UNSENT_AFTER = timedelta(seconds=5)
MOST_ATTEMPTS = 5


def sweep_jobs() -> None:
    """One round."""
    open_jobs = ToolJob.objects.filter(delivered_at__isnull=True).order_by("created_at")
    _take_up_lost()
    _end_unwanted(open_jobs)
    _send_unsent(open_jobs)
    for job in open_jobs.filter(status__in=FINISHED)[:100]:
        show(job)
        answer(job.pk)


def _take_up_lost() -> None:
    """A worker that is not heard of any more has died: the job is queued again, or failed after too many deaths."""
    lost = ToolJob.objects.filter(status=JobStatus.RUNNING, heartbeat_at__lt=_ago(conf().job_lost_seconds))
    for job in lost[:100]:
        if lost.filter(pk=job.pk, attempts=job.attempts).update(**_after_death(job)):
            job.refresh_from_db()
            show(job)


def _after_death(job: ToolJob) -> dict[str, Any]:
    """What becomes of the row. One whose call was undone is delivered: nobody is to be told."""
    if job.delivered_at is not None:
        return {"status": JobStatus.CANCELLED, "finished_at": Now(), "error": CANCELLED}
    if job.attempts < MOST_ATTEMPTS:
        error = "The worker died; the job is tried again."
        return {"status": JobStatus.QUEUED, "sent_at": None, "error": error}
    error = f"The worker died at attempt {job.attempts}; the job is not tried again."
    return {"status": JobStatus.FAILED, "finished_at": Now(), "error": error}


def _end_unwanted(open_jobs: QuerySet[ToolJob]) -> None:
    """Nobody is at these any more, and they would never be begun: workers drop what was revoked."""
    unwanted = open_jobs.filter(status__in=IDLE, cancel_requested_at__isnull=False)
    for job_id in unwanted.values_list("pk", flat=True)[:100]:
        end_cancelled(job_id)


def _send_unsent(open_jobs: QuerySet[ToolJob]) -> None:
    """Send what was not sent, or so long ago that the broker may have lost it: a job is claimed once all the same."""
    at_once = Q(run_at__isnull=True, created_at__lt=timezone.now() - UNSENT_AFTER)
    unsent = Q(sent_at__isnull=True) & (at_once | Q(run_at__lte=Now()))
    forgotten = Q(sent_at__lt=_ago(conf().job_resend_seconds))
    for job in open_jobs.filter(unsent | forgotten, status=JobStatus.QUEUED)[:100]:
        send_job(job.pk, job.task_name)
        ToolJob.objects.filter(pk=job.pk).update(sent_at=Greatest("sent_at", Now()))


def _ago(seconds: float) -> datetime:
    return timezone.now() - timedelta(seconds=seconds)
