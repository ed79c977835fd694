"""Cancellation of jobs: immediate for queued and waiting jobs, cooperative for running jobs.

    queued, waiting --> cancelled immediately; the response is queued
    running         --> `progress`, `confirm` and `ask` raise JobCancelled (the reporter thread reads the request)
                        SIGUSR1 raises SoftTimeLimitExceeded in a function without progress
                        after `cancel_grace_seconds` a sweep lets the process be killed (`forced_end`)

The request is stored in the row first, so it survives a lost signal and the death of the worker.
"""

import logging
from collections.abc import Collection
from uuid import UUID

from celery import current_app
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from sessions_app.base.actors import Act, ActionKind, Actor, ActorKind
from sessions_app.base.statuses import JOB_CANCELLED
from sessions_app.conf import conf
from sessions_app.jobs.report import publish_job
from sessions_app.jobs.response import queue_response
from sessions_app.models import Invocation, JobStatus, SessionAct, ToolJob
from sessions_app.models.past_attempts import with_failed_attempt
from sessions_app.models.tool_job import ToolJobQuerySet
from sessions_app.process.celery_dispatch import offer_sweep
from sessions_app.process.threads import fetch_rows, in_thread
from sessions_app.store.sql.leases import Claim

logger = logging.getLogger(__name__)
SWEEP_MARGIN = 0.2
"""Seconds after the grace, for differences between the clocks."""
STOPPED_BY_STAFF = gettext_noop("The job was stopped by staff.")


def cancel_job(job_id: UUID, *, by: Actor, reason: str = "") -> None:
    """Cancel the job, unless it has ended. The row keeps the user, time and reason of the first request.

    The model receives a function response with the status `cancelled`.
    """
    job = ToolJob.objects.filter(pk=job_id)
    _store_request(job, by, reason)
    if end_cancelled_job(job_id):
        queue_response(job_id)
    elif job.filter(status=JobStatus.RUNNING).exists():
        try:
            # The signal of Celery's soft limit: it raises in the function, and spares the process.
            current_app.control.revoke(str(job_id), terminate=True, signal="SIGUSR1")
            # Not the next scheduled sweep, which may be five seconds later.
            offer_sweep(conf().cancel_grace_seconds + SWEEP_MARGIN)
        except Exception:  # The broker may be down. `progress` still interrupts the function.
            logger.warning(
                "The worker of job %s could not be signalled",
                job_id,
                exc_info=True,
                extra={"job_id": str(job_id)},
            )


def _store_request(job: ToolJobQuerySet, by: Actor, reason: str) -> None:
    """Store who cancels the job, unless it has ended or was cancelled before."""
    first = job.open().filter(cancel_requested_at__isnull=True)
    with transaction.atomic():
        for pk, session_id in first.values_list("pk", "session_id"):
            SessionAct.objects.record(session_id, Act(by, ActionKind.STOP, ("tooljob", str(pk)), reason))
        is_first = first.update(
            cancel_requested_at=Now(),
            cancelled_by_id=by.user_pk,
            cancelled_by_name=by.name,
            cancel_reason=reason,
        )
        if not is_first:  # Meanwhile another request was stored, or the job has ended: leave no act.
            transaction.set_rollback(True)


def end_cancelled_job(job_id: UUID) -> bool:
    """End a cancelled job unless it is running. Return True if the job was ended."""
    error = cancellation_error(job_id)
    if error is None:
        return False
    is_ended = (
        ToolJob.objects.idle()
        .filter(pk=job_id)
        .update(
            status=JobStatus.CANCELLED,
            error=error,
            question=None,
            finished_at=Now(),
            past_attempts=with_failed_attempt(),
        )
    )
    if is_ended:
        publish_job(ToolJob.objects.get(pk=job_id))
    return bool(is_ended)


def cancellation_error(job_id: UUID) -> str | None:
    """Return the error text of a cancelled job; None without a cancel request."""
    requested = ToolJob.objects.filter(pk=job_id, cancel_requested_at__isnull=False)
    session_id = requested.values_list("session_id", flat=True).first()
    if session_id is None:
        return None
    stops = SessionAct.objects.filter(session=session_id, action=ActionKind.STOP)
    # Read from the record of the act: staff may stop a job of their own chat, and their account may be gone by now.
    first = stops.filter(subject_kind="tooljob", subject_id=str(job_id)).order_by("pk").first()
    return STOPPED_BY_STAFF if first and first.actor_kind == ActorKind.STAFF else JOB_CANCELLED


async def end_jobs_of_calls(claim: Claim, call_ids: Collection[str]) -> None:
    """Cancel the open jobs of calls about to be answered, because staff stop their invocation.

    Args:
        claim: the claim of the stopped invocation.
    """
    open_jobs = ToolJob.objects.open().filter(session_id=claim.session_id, call_id__in=call_ids)
    job_ids = await fetch_rows(open_jobs.values_list("pk", flat=True)) if call_ids else []
    if not job_ids:
        return
    stopped = await in_thread(Invocation.objects.get, invocation_id=claim.invocation_id)
    by = Actor(ActorKind.STAFF, stopped.cancelled_by_name, stopped.cancelled_by_id)
    # Marked as delivered first: the stop answers the calls, and `cancel_job` must not queue second responses.
    await in_thread(ToolJob.objects.filter(pk__in=job_ids).update, delivered_at=Now())
    for job_id in job_ids:
        await in_thread(cancel_job, job_id, by=by, reason=stopped.cancel_reason)
