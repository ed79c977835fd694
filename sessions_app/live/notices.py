"""Notices of an invocation, a job, a scheduled task, and the end of a call."""

from __future__ import annotations

from runtime.run_config import CallEnd
from sessions_app.live.columns import columns_of
from sessions_app.live.frames import CallFrame, InvocationFrame, JobFrame, ScheduleFrame
from sessions_app.models import ScheduledTask, ToolJob
from sessions_app.rendering.response_state import state_of

CARD_OF_JOB = (
    *("id", "session_id", "call_id", "tool_name", "attempts", "progress_done", "progress_total"),
    *("progress_message", "error", "artifacts", "question", "answers"),
    *("run_at", "sent_at", "started_at", "finished_at"),
)
"""Columns of a job that its card shows."""
CARD_OF_TASK = ("id", "task", "next_at", "every", "time_zone", "error", "cancelled_at")
"""Columns of a scheduled task that its card shows."""


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
        columns={**columns_of(job, CARD_OF_JOB), "status": str(job.status or "queued")},
    )


def schedule_notice(task: ScheduledTask) -> ScheduleFrame:
    """Return the notice of a scheduled task."""
    return ScheduleFrame(
        id=task.pk,
        status=task.status,
        task=task.task,
        next_at=task.next_at.isoformat() if task.next_at else None,
        columns=columns_of(task, CARD_OF_TASK),
    )


def call_notice(end: CallEnd) -> CallFrame:
    """Return the notice of the end of a call."""
    return CallFrame(end.call.id or "", state_of(end.response), round(end.seconds, 3))
