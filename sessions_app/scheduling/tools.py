"""Tools with which a model schedules, lists and cancels tasks."""

from datetime import UTC, tzinfo
from typing import Any

from django.db import transaction
from django.utils import translation

from runtime.tools import ToolContext
from sessions_app.base import actors
from sessions_app.base.codec import user_pk
from sessions_app.base.timing import zone_of
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.live.notices import schedule_notice
from sessions_app.live.process import live
from sessions_app.models import ScheduledTask, Session
from sessions_app.process.pool import database_now
from sessions_app.process.threads import fetch_rows, in_thread
from sessions_app.scheduling.session_tasks import cancel_task
from sessions_app.scheduling.task_timing import check_task, parse_task_timing, zone_for


async def schedule_task(
    task: str,
    tool_context: ToolContext,
    run_at: str | None = None,
    every: str | None = None,
    time_zone: str | None = None,
    ends_at: str | None = None,
    most_runs: int | None = None,
) -> dict[str, Any]:
    """Schedule a task for later: once, at an interval of minutes, hours, days or weeks, or by a crontab.

    At each due time you receive the task as a message in this conversation, even if the user is away, and do it then.
    Use this for reminders, repeated checks and any other work that is not due now.

    Args:
        task: The task, as an instruction to yourself with all the information that you will need.
        run_at: The first time: ISO 8601 with an offset from UTC, such as '2026-11-21T09:00+01:00', or a delay such
            as 'in 10 minutes'. If omitted, the first time follows from 'every'.
        every: The interval of a repeated task: '10 minutes', '2 hours', '1 day', '1 week', or the five fields of a
            crontab: '0 9 * * 1-5' is every weekday at 9:00. A day of the month and a day of the week must both match.
        time_zone: The user's time zone as an IANA name such as 'Europe/Berlin', if known.
        ends_at: The task ends after this time, in the format of 'run_at'.
        most_runs: The maximum number of runs.
    """
    try:
        check_task(task)
        now = (await database_now()).astimezone(zone_for(tool_context.state, time_zone))
        timing = parse_task_timing(now, run_at, every, ends_at, most_runs)
        session = await _load_session(tool_context)
        row = ScheduledTask(
            session=session,
            invocation_id=tool_context.invocation_id,
            call_id=tool_context.function_call_id or "",
            agent_name=tool_context.agent_name,
            task=task,
            start_at=timing.start_at,
            next_at=timing.start_at,
            every=timing.recurrence.text if timing.recurrence else "",
            time_zone=str(now.tzinfo),
            most_runs=timing.most_runs,
            ends_at=timing.ends_at,
        )
        row = await in_thread(create_task, row)
    except (InvalidInputError, NotFoundError) as error:
        return {"error": f"Nothing was scheduled. {error}"}
    live().hub.publish_notice(row.session_id, schedule_notice(row))
    return {"status": "scheduled", **_describe(row)}


async def list_scheduled_tasks(tool_context: ToolContext) -> dict[str, Any]:
    """List the active and failed scheduled tasks of this conversation, with the current time."""
    try:
        session = await _load_session(tool_context)
        now = (await database_now()).astimezone(zone_for(tool_context.state))
    except (InvalidInputError, NotFoundError) as error:
        return {"error": str(error)}
    rows = await fetch_rows(session.scheduled_tasks.shown())
    return {
        "now": now.isoformat(timespec="seconds"),
        "scheduled_tasks": [_describe(row) for row in rows],
    }


async def cancel_scheduled_task(id: int, tool_context: ToolContext) -> dict[str, Any]:
    """Cancel a scheduled task.

    Args:
        id: The id of the scheduled task, as returned when it was scheduled or listed.
    """
    try:
        session = await _load_session(tool_context)
        row = await in_thread(cancel_task, session.pk, id, actors.agent(tool_context.agent_name))
    except NotFoundError as error:
        return {"error": str(error)}
    live().hub.publish_notice(row.session_id, schedule_notice(row))
    return {"status": row.status, "id": row.pk, "task": row.task}


async def _load_session(tool_context: ToolContext) -> Session:
    session = tool_context.session
    rows = Session.objects.filter(app_name=session.app_name, user_id=user_pk(session.user_id), key=session.id)
    row = await in_thread(rows.first)
    if row is None:
        raise NotFoundError(
            "Tasks can only be scheduled in sessions that the site stores. An agent that is used as a tool has no "
            "such session; let the calling agent schedule the task."
        )
    return row


def _describe(row: ScheduledTask) -> dict[str, Any]:
    next_at = row.next_at and row.next_at.astimezone(_zone_or_utc(row))
    with translation.override(None):  # The model reads English in every language of the site.
        how_often = row.how_often
    fields = {
        "id": row.pk,
        "task": row.task,
        "next_at": next_at and next_at.isoformat(timespec="seconds"),
        "how_often": how_often,
        "runs": row.runs,
        "most_runs": row.most_runs,
        "ends_at": row.ends_at and row.ends_at.isoformat(timespec="seconds"),
        "error": row.error or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _zone_or_utc(row: ScheduledTask) -> tzinfo:
    """Return the zone of the task; UTC when the zone is unknown, as after an update of the time zones."""
    try:
        return zone_of(row.time_zone)
    except InvalidInputError:
        return UTC


def create_task(task: ScheduledTask) -> ScheduledTask:
    """Store the task. Idempotent: if the call has a task already, return the existing task.

    Raises:
        InvalidInputError: The session has reached its limit of active tasks.
    """
    with transaction.atomic():
        # Lock the session row: parallel calls of one step could exceed the limit.
        Session.objects.select_for_update().only("pk").get(pk=task.session_id)
        of_session = ScheduledTask.objects.filter(session_id=task.session_id)
        existing = of_session.filter(call_id=task.call_id).first()
        if existing is not None:
            return existing
        limit = conf().max_schedules_per_session
        if of_session.active().count() >= limit:
            raise InvalidInputError(
                f"This session has {limit} scheduled tasks, the maximum. Cancel one of them first."
            )
        task.save()
        return task
