"""Jobs whose time has come are sent; unsent, lost and unanswered ones, which a crash left, are taken up again."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.db.models.functions import Greatest, Now
from django.utils import timezone

from sessions_app.conf import conf
from sessions_app.dispatch import send_job
from sessions_app.jobs.answer import answer
from sessions_app.models import JobStatus, ToolJob
from sessions_app.models.tool_job import FINISHED

UNSENT_AFTER = timedelta(seconds=5)
MOST_ATTEMPTS = 5


def sweep_jobs() -> None:
    """One round."""
    open_jobs = ToolJob.objects.filter(delivered_at__isnull=True).order_by("created_at")
    _take_up_lost(open_jobs)
    _send_unsent(open_jobs)
    for job_id in open_jobs.filter(status__in=FINISHED).values_list("pk", flat=True)[:100]:
        answer(job_id)


def _take_up_lost(open_jobs: QuerySet[ToolJob]) -> None:
    """A worker that is not heard of any more has died: the job is queued again, or failed after too many deaths."""
    lost = open_jobs.filter(status=JobStatus.RUNNING, heartbeat_at__lt=_ago(conf().job_lost_seconds))
    lost.filter(attempts__gte=MOST_ATTEMPTS).update(
        status=JobStatus.FAILED,
        finished_at=Now(),
        error=f"The worker died {MOST_ATTEMPTS} times at this job.",
    )
    lost.update(status=JobStatus.QUEUED, sent_at=None, error="The worker died; the job is tried again.")


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
