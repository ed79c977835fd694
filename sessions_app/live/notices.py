"""Notices: changes of invocations, jobs, scheduled tasks and calls, as plain data.

The hub gives a notice to the readers of this process, and the relay carries its `values_of` to other processes. Each
edge turns a notice into its own format: HTML for a browser, JSON for a program, a line for a terminal.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from runtime.run_config import CallEnd
from sessions_app.base.statuses import InvocationStatus, JobStatus
from sessions_app.history.call_state import state_of
from sessions_app.models import ScheduledTask, ToolJob
from sessions_app.models.scheduled_task import recurrence_in_words


@dataclass(frozen=True)
class InvocationNotice:
    type: ClassVar[str] = "invocation"

    id: str
    client_id: str
    status: str
    error: str | None = None

    @property
    def is_active(self) -> bool:
        """True while the invocation is queued or running."""
        return self.status in InvocationStatus.active()

    @property
    def is_running(self) -> bool:
        """True while the invocation streams text."""
        return self.status == InvocationStatus.RUNNING


@dataclass(frozen=True)
class JobNotice:
    """The part of a job that people may see. Fields are named as the columns and properties of `ToolJob`."""

    type: ClassVar[str] = "job"

    id: str
    session_id: str
    call_id: str
    tool_name: str
    status: str
    attempts: int
    most_attempts: int
    percent: int | None
    progress_message: str
    phases: list[dict[str, Any]]
    error: str
    question: dict[str, Any] | None
    answers: list[dict[str, Any]]
    artifacts: dict[str, int]
    is_delayed: bool
    run_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def is_active(self) -> bool:
        """True while the job is queued or running."""
        return self.status in JobStatus.active()

    def as_json(self) -> dict[str, Any]:
        """Return the fields for programs and scripts. An open question has its number, counted from 0."""
        question = self.question and {**self.question, "number": len(self.answers)}
        return {
            "id": self.id,
            "call_id": self.call_id,
            "tool": self.tool_name,
            "status": self.status,
            "percent": self.percent,
            "message": self.progress_message,
            "error": self.error,
            "question": question,
            "artifacts": self.artifacts,
        }


@dataclass(frozen=True)
class ScheduleNotice:
    """The part of a scheduled task that people may see. Fields are named as the columns of `ScheduledTask`."""

    type: ClassVar[str] = "schedule"
    is_active: ClassVar[bool] = False
    """Scheduled tasks are not counted among the active invocations and jobs of a session."""

    id: int
    status: str
    task: str
    next_at: datetime | None
    every: str
    time_zone: str
    error: str

    @property
    def how_often(self) -> str:
        """The recurrence in the active language."""
        return recurrence_in_words(self.every, self.time_zone)

    def as_json(self) -> dict[str, Any]:
        """Return the fields for programs and scripts."""
        next_at = self.next_at.isoformat() if self.next_at else None
        return {"id": self.id, "status": self.status, "task": self.task, "next_at": next_at}


@dataclass(frozen=True)
class CallNotice:
    """The end of a call, while other calls of its step still run. An event with all responses follows.

    Attributes:
        state: value of a `CallState`, as in the HTML of the event.
    """

    type: ClassVar[str] = "call"
    is_active: ClassVar[bool] = False
    """Calls are not counted among the active invocations and jobs of a session."""

    id: str
    state: str
    seconds: float


Notice = InvocationNotice | JobNotice | ScheduleNotice | CallNotice

_TYPES: Mapping[str, type[Notice]] = {
    notice.type: notice for notice in (InvocationNotice, JobNotice, ScheduleNotice, CallNotice)
}
# The channel layer has no type for times: these fields travel as texts.
_TIMES = ("run_at", "started_at", "finished_at", "next_at")


def invocation_notice(invocation_id: str, client_id: str, status: str, error: str = "") -> InvocationNotice:
    return InvocationNotice(invocation_id, client_id, status, error or None)


def job_notice(job: ToolJob) -> JobNotice:
    return JobNotice(
        id=str(job.id),
        session_id=str(job.session_id),
        call_id=job.call_id,
        tool_name=job.tool_name,
        status=str(job.status or JobStatus.QUEUED),
        attempts=job.attempts,
        most_attempts=job.most_attempts,
        percent=job.percent,
        progress_message=job.progress_message,
        phases=job.phases,
        error=job.error,
        question=job.question,
        answers=job.answers,
        artifacts=job.artifacts,
        is_delayed=job.is_delayed,
        run_at=job.run_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
    )


def schedule_notice(task: ScheduledTask) -> ScheduleNotice:
    return ScheduleNotice(
        id=task.id,
        status=task.status,
        task=task.task,
        next_at=task.next_at,
        every=task.every,
        time_zone=task.time_zone,
        error=task.error,
    )


def call_notice(end: CallEnd) -> CallNotice:
    return CallNotice(end.call.id or "", state_of(end.response), round(end.seconds, 3))


def values_of(notice: Notice) -> dict[str, Any]:
    """Return the type and the fields of a notice as values for the channel layer, with times as texts."""
    values = dict(vars(notice))
    for name in _TIMES:
        if values.get(name) is not None:
            values[name] = values[name].isoformat()
    return {"kind": notice.type, "fields": values}


def notice_from(values: Mapping[str, Any]) -> Notice:
    """Return the notice from its `values_of`."""
    given = dict(values["fields"])
    for name in _TIMES:
        if given.get(name) is not None:
            given[name] = datetime.fromisoformat(given[name])
    return _TYPES[values["kind"]](**given)
