"""Waits of workflows: a wait is a job that begins when it is over, so no process waits."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from runtime import _platform
from runtime.context import Context
from runtime.errors import ConfigurationError
from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.conf import conf
from sessions_app.errors import ConflictError
from sessions_app.jobs.report import publish_job
from sessions_app.jobs.staging import stage_call
from sessions_app.jobs.tool import job_tool
from sessions_app.models import JobStatus, Session, SessionAct
from sessions_app.process.celery_dispatch import offer_sweep

HAS_ENDED = "This wait has ended already."


@job_tool
def end_wait(until: str) -> dict[str, str]:
    """End a wait."""
    return {"until": until}


def stage_wait(node_name: str, context: Context, until: datetime) -> dict[str, Any]:
    """Stage the job that ends a wait, and return the pending response; see `RunConfig.stage_wait`.

    Raises:
        ConfigurationError: the wait is longer than a job may be delayed.
    """
    longest = timedelta(seconds=conf().schedule_longest_seconds)
    if until - datetime.fromtimestamp(_platform.now(), UTC) > longest:
        raise ConfigurationError(
            f"Node {node_name!r} waits until {until:%Y-%m-%d}, and schedule_longest_seconds allows {longest.days} "
            "days. Let it wait for a shorter time."
        )
    return stage_call(node_name, end_wait.task_name, {"until": until.isoformat()}, context, until)


def start_now(session: Session, call_id: str, *, by: Actor, reason: str) -> None:
    """Let the delayed job of a call begin now, as if its time had come.

    Raises:
        ConflictError: no job of the call waits for its time any more.
    """
    delayed = session.jobs.undelivered().filter(
        call_id=call_id, status=JobStatus.QUEUED, run_at__gt=Now(), sent_at=None, cancel_requested_at=None
    )
    job = delayed.first()
    if job is None:
        raise ConflictError(HAS_ENDED)
    with transaction.atomic():
        SessionAct.objects.record(session.pk, Act(by, ActionKind.CHANGE, ("tooljob", str(job.pk)), reason))
        if not delayed.update(run_at=Now()):  # Somebody else was faster.
            raise ConflictError(HAS_ENDED)
    job.refresh_from_db()
    publish_job(job)
    offer_sweep()
