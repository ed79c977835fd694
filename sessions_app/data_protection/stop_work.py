"""End of all work in a session, before it is erased."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from celery import current_app
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from sessions_app.invocations.worker import worker
from sessions_app.models import Invocation, InvocationStatus, JobStatus, ScheduledTask, Session, ToolJob
from sessions_app.process import threads

logger = logging.getLogger(__name__)
OWNER = "erasure"
FENCE_SECONDS = 60
"""Seconds after which the lease of a crashed erasure expires."""


def stop_work(session_pk: UUID, *, by: Any) -> None:
    """Cancel the session's invocations, jobs and scheduled tasks, and take over its lease.

    The previous holder of the lease can no longer write, even if the request to stop does not reach its process. No
    response of a cancelled job is delivered to the model. After a crash the lease expires like any other.
    """
    with transaction.atomic():
        fence = timezone.now() + timedelta(seconds=FENCE_SECONDS)
        sessions = Session.objects.filter(pk=session_pk)
        # Lock order: session row first, as in an append. The higher token refuses all writes under earlier leases.
        sessions.update(lease_token=F("lease_token") + 1, lease_owner=OWNER, lease_expires_at=fence)
        running = Invocation.objects.filter(session=session_pk, status=InvocationStatus.RUNNING)
        invocation_ids = list(running.values_list("invocation_id", flat=True))
        at_work = ToolJob.objects.filter(session=session_pk, status=JobStatus.RUNNING)
        job_ids = [str(pk) for pk in at_work.values_list("pk", flat=True)]
        # `Coalesce` keeps the time of an earlier request.
        cancelled = {"cancel_requested_at": Coalesce("cancel_requested_at", Now()), "finished_at": Now()}
        Invocation.objects.filter(session=session_pk).open().update(
            status=InvocationStatus.CANCELLED, cancelled_by_id=by, **cancelled
        )
        # Marked as delivered, so no sweep queues an invocation with the job's response.
        ToolJob.objects.filter(session=session_pk).open().update(
            status=JobStatus.CANCELLED, cancelled_by_id=by, delivered_at=Now(), question=None, **cancelled
        )
        ScheduledTask.objects.filter(session=session_pk).active().order_by().update(
            next_at=None, cancelled_at=Now(), cancelled_by_id=by
        )
        # After the commit: a process that stops earlier would still find its lease, and write the end of its
        # invocation.
        transaction.on_commit(partial(_stop_processes, invocation_ids, job_ids))


def _stop_processes(invocation_ids: Sequence[str], job_ids: Sequence[str]) -> None:
    """Ask the processes to stop now; without Redis they stop at their next heartbeat."""
    try:
        for invocation_id in invocation_ids:
            threads.run(_cancel(invocation_id))
        for job_id in job_ids:
            # Celery's signal of a soft time limit, which interrupts the function; SIGTERM would end the worker
            # process.
            current_app.control.revoke(job_id, terminate=True, signal="SIGUSR1")
    except Exception:  # the rows already keep both from writing
        logger.warning("Processes could not be told to stop", exc_info=True)


async def _cancel(invocation_id: str) -> None:
    await worker().cancel(invocation_id)
