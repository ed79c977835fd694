"""What watchers are told of invocations, jobs and scheduled tasks."""

from __future__ import annotations

from typing import Any

from sessions_app.live.frames import Notice
from sessions_app.models import InvocationStatus, ScheduledTask, ToolJob
from sessions_app.rendering import render_job, render_schedule

AT_WORK = (InvocationStatus.QUEUED, InvocationStatus.RUNNING)


def invocation_notice(invocation_id: str, client_id: str, status: str, error: str = "") -> Notice:
    """The `invocation` frame."""
    fields = {"id": invocation_id, "client_id": client_id, "status": status, "error": error or None}
    if status == InvocationStatus.RUNNING:
        return Notice("invocation", fields, begins_invocation=True)
    return Notice("invocation", fields, ends_invocation="" if status in AT_WORK else invocation_id)


def job_notice(job: ToolJob) -> Notice:
    """The `job` frame."""
    return Notice("job", job_fields(job))


def job_fields(job: ToolJob) -> dict[str, Any]:
    """What a browser is told of a job."""
    return {
        "id": str(job.id),
        "call_id": job.call_id,
        "tool": job.tool_name,
        "status": str(job.status or "queued"),
        "percent": job.percent,
        "message": job.progress_message,
        "error": job.error,
        "question": job.question and {**job.question, "number": len(job.answers)},
        "artifacts": job.artifacts,
        "html": render_job(job),
    }


def schedule_notice(task: ScheduledTask) -> Notice:
    """The `schedule` frame."""
    return Notice("schedule", schedule_fields(task))


def schedule_fields(task: ScheduledTask) -> dict[str, Any]:
    """What a browser is told of a scheduled task."""
    return {
        "id": task.pk,
        "status": task.status,
        "task": task.task,
        "next_at": task.next_at and task.next_at.isoformat(),
        "how_often": task.how_often,
        "html": render_schedule(task),
    }
