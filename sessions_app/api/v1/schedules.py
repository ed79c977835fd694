"""Scheduled tasks: what agents have planned to do later, once or repeatedly."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router

from sessions_app import use_cases
from sessions_app.api.access.callers import actor_of, caller_of
from sessions_app.api.pages import NEWEST_FIRST, Number, Page, PageQuery, RowSchema, read_page
from sessions_app.api.reachable import reachable_schedule, reachable_session
from sessions_app.models import ScheduledTask, Scope

router = Router(tags=["schedules"])


class Schedule(RowSchema):
    """A scheduled task.

    Attributes:
        task: the instruction that the agent gets.
        next_at: time of the next run; null when there is none.
        every: recurrence, such as a number of seconds or a rule; empty for a single run.
        error: reason why the task cannot be run any more.
    """

    schedule_id: int
    session_id: UUID
    agent: str
    task: str
    status: Literal["active", "cancelled", "failed", "over"]
    next_at: datetime | None
    every: str
    time_zone: str
    runs: int
    created_at: datetime
    last_run_at: datetime | None
    error: str

    @classmethod
    def of(cls, row: ScheduledTask) -> "Schedule":
        return cls.from_row(row, schedule_id=row.pk, agent=row.agent_name)


@router.get("/sessions/{session_id}/schedules", response=Page[Schedule])
async def list_schedules(request: HttpRequest, session_id: UUID, query: Query[PageQuery]) -> Page[Schedule]:
    """List the scheduled tasks of a session, newest first, including tasks that are over."""
    session = await reachable_session(caller_of(request), session_id, Scope.READ)
    rows = session.scheduled_tasks.all()
    return await read_page(Page[Schedule], rows, NEWEST_FIRST, query, Schedule.of)


@router.post("/schedules/{schedule_id}/cancel", response=Schedule)
async def cancel(request: HttpRequest, schedule_id: Number) -> Schedule:
    """Cancel a scheduled task. A run that has begun continues."""
    task = await reachable_schedule(caller_of(request), schedule_id, Scope.MANAGE)
    await use_cases.cancel_schedule(actor_of(request, task.session.user), task.session_id, task.pk)
    return Schedule.of(await reachable_schedule(caller_of(request), schedule_id, Scope.MANAGE))
