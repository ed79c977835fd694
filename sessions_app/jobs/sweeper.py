"""Sweep of jobs: send due jobs, and repair jobs that a crash left unsent, lost or without a function response."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Greatest, Now
from django.utils import timezone

from sessions_app.celery_dispatch import send_job
from sessions_app.conf import conf
from sessions_app.jobs.cancel import CANCELLED, NOT_RUNNING, end_cancelled_job
from sessions_app.jobs.report import publish_job
from sessions_app.jobs.response import queue_response
from sessions_app.models import JobStatus, ToolJob
from sessions_app.models.tool_job import FINISHED

SEND_GRACE = timedelta(seconds=5)
MAX_ATTEMPTS = 5


def sweep_jobs() -> None:
    """Run one sweep."""
    undelivered = ToolJob.objects.filter(delivered_at__isnull=True).order_by("created_at")
    _recover_lost()
    _end_cancelled(undelivered)
    _send_due(undelivered)
    for job in undelivered.filter(status__in=FINISHED)[:100]:
        publish_job(job)
        queue_response(job.pk)


def _recover_lost() -> None:
    """Queue running jobs without a recent heartbeat again; fail them after `MAX_ATTEMPTS`."""
    lost = ToolJob.objects.filter(status=JobStatus.RUNNING, heartbeat_at__lt=_ago(conf().job_lost_seconds))
    for job in lost[:100]:
        if lost.filter(pk=job.pk, attempts=job.attempts).update(**_recovery_values(job)):
            job.refresh_from_db()
            publish_job(job)


def _recovery_values(job: ToolJob) -> dict[str, Any]:
    """Return the new column values. A job marked as delivered belongs to a rewound call and is cancelled."""
    if job.delivered_at is not None:
        return {"status": JobStatus.CANCELLED, "finished_at": Now(), "error": CANCELLED}
    if job.attempts < MAX_ATTEMPTS:
        error = "The worker died; the job will be retried."
        return {"status": JobStatus.QUEUED, "sent_at": None, "error": error}
    error = f"The worker died in attempt {job.attempts}; the job will not be retried."
    return {"status": JobStatus.FAILED, "finished_at": Now(), "error": error}


def _end_cancelled(undelivered: QuerySet[ToolJob]) -> None:
    """End cancelled jobs that are not running: no worker will, because workers drop revoked tasks."""
    cancelled = undelivered.filter(status__in=NOT_RUNNING, cancel_requested_at__isnull=False)
    for job_id in cancelled.values_list("pk", flat=True)[:100]:
        end_cancelled_job(job_id)


def _send_due(undelivered: QuerySet[ToolJob]) -> None:
    """Send due jobs that were never sent, or so long ago that the broker may have lost them.

    Sending twice is safe: a job is claimed once.
    """
    immediate = Q(run_at__isnull=True, created_at__lt=timezone.now() - SEND_GRACE)
    unsent = Q(sent_at__isnull=True) & (immediate | Q(run_at__lte=Now()))
    overdue = Q(sent_at__lt=_ago(conf().job_resend_seconds))
    for job in undelivered.filter(unsent | overdue, status=JobStatus.QUEUED)[:100]:
        send_job(job.pk, job.task_name)
        ToolJob.objects.filter(pk=job.pk).update(sent_at=Greatest("sent_at", Now()))


def _ago(seconds: float) -> datetime:
    return timezone.now() - timedelta(seconds=seconds)
