"""Notices of an invocation, a job, a scheduled task, the end of a call."""

from __future__ import annotations

from runtime.run_config import CallEnd
from sessions_app.live.frames import CallFrame, InvocationFrame, JobFrame, ScheduleFrame
from sessions_app.models import ScheduledTask, ToolJob
from sessions_app.rendering import render_job, render_schedule
from sessions_app.rendering.blocks import state_of


def invocation_notice(invocation_id: str, client_id: str, status: str, error: str = "") -> InvocationFrame:
    """Return the notice of an invocation's status."""
    return InvocationFrame(invocation_id, client_id, status, error or None)


def job_notice(job: ToolJob) -> JobFrame:
    """Return the notice of a job."""
    return JobFrame(
        id=str(job.id),
        call_id=job.call_id,
        tool=job.tool_name,
        status=str(job.status or "queued"),
        percent=job.percent,
        message=job.progress_message,
        error=job.error,
        question=job.question and {**job.question, "number": len(job.answers)},
        artifacts=job.artifacts,
        html=render_job(job),
    )


def schedule_notice(task: ScheduledTask) -> ScheduleFrame:
    """Return the notice of a scheduled task."""
    return ScheduleFrame(
        id=task.pk,
        status=task.status,
        task=task.task,
        next_at=task.next_at.isoformat() if task.next_at else None,
        how_often=task.how_often,
        html=render_schedule(task),
    )


def call_notice(end: CallEnd) -> CallFrame:
    """Return the notice of the end of a call."""
    return CallFrame(end.call.id or "", state_of(end.response), round(end.seconds, 3))
