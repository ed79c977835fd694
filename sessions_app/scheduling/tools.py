"""What an agent's model may do with scheduled tasks."""

from __future__ import annotations

from typing import Any

from runtime.tools import ToolContext
from sessions_app.codec import user_pk
from sessions_app.db.threads import in_thread
from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.live.notices import schedule_notice
from sessions_app.live.process import live
from sessions_app.models import ScheduledTask, Session
from sessions_app.scheduling.cancel import cancel_task
from sessions_app.scheduling.clock import now_for
from sessions_app.scheduling.create import create_task
from sessions_app.scheduling.plan import check_task, read_plan


async def schedule_task(
    task: str,
    tool_context: ToolContext,
    run_at: str | None = None,
    every: str | None = None,
    time_zone: str | None = None,
    ends_at: str | None = None,
    most_runs: int | None = None,
) -> dict[str, Any]:
    """Schedule a task for later: once at a time, every so many minutes, hours, days or weeks, or by a crontab.

    When it is time, you are told the task in this conversation, even if the person is not there, and do it then. Use
    this for reminders, for repeated checks, and for whatever is not to be done now.

    Args:
        task: What you are to do then, as an instruction to yourself that tells all that you will need to know.
        run_at: The first time: ISO 8601 with an offset from UTC, such as '2026-11-21T09:00+01:00', or from now on,
            such as 'in 10 minutes'. Left out, the first time follows from 'every'.
        every: How often, if more than once: '10 minutes', '2 hours', '1 day', '1 week', or the five fields of a
            crontab: '0 9 * * 1-5' is every weekday at 9:00. A day of the month and a day of the week must both fit.
        time_zone: On whose clocks, as an IANA name such as 'Europe/Berlin', if it is known.
        ends_at: Nothing comes after this time, written as 'run_at' is.
        most_runs: How often at most.
    """
    try:
        check_task(task)
        now = now_for(tool_context.state, time_zone)
        plan = read_plan(now, run_at, every, ends_at, most_runs)
        session = await _session(tool_context)
        row = ScheduledTask(
            session=session,
            invocation_id=tool_context.invocation_id,
            call_id=tool_context.function_call_id or "",
            agent_name=tool_context.agent_name,
            task=task,
            start_at=plan.start_at,
            next_at=plan.start_at,
            every=plan.recurrence.text if plan.recurrence else "",
            time_zone=str(now.tzinfo),
            most_runs=plan.most_runs,
            ends_at=plan.ends_at,
        )
        row = await in_thread(create_task, row)
    except (InvalidInputError, NotFoundError) as error:
        return {"error": f"Nothing was scheduled. {error}"}
    live().hub.publish_notice(row.session_id, schedule_notice(row))
    return {"status": "scheduled", **_told(row, tool_context)}


async def list_scheduled_tasks(tool_context: ToolContext) -> dict[str, Any]:
    """List the scheduled tasks of this conversation that are still to come, and tell what time it is."""
    try:
        session = await _session(tool_context)
    except NotFoundError as error:
        return {"error": str(error)}
    rows = [row async for row in session.scheduled_tasks.active()]
    now = now_for(tool_context.state)
    return {
        "now": now.isoformat(timespec="seconds"),
        "scheduled_tasks": [_told(row, tool_context) for row in rows],
    }


async def cancel_scheduled_task(id: int, tool_context: ToolContext) -> dict[str, Any]:
    """Cancel a scheduled task, so that it does not come again.

    Args:
        id: The number of the scheduled task, as it was told when it was scheduled or listed.
    """
    try:
        session = await _session(tool_context)
        row = await in_thread(cancel_task, session.pk, id, session.user_id)
    except NotFoundError as error:
        return {"error": str(error)}
    live().hub.publish_notice(row.session_id, schedule_notice(row))
    return {"status": row.status, "id": row.pk, "task": row.task}


async def _session(tool_context: ToolContext) -> Session:
    """The conversation on this site that the tool is called in."""
    known = tool_context.session
    rows = Session.objects.filter(app_name=known.app_name, user_id=user_pk(known.user_id), key=known.id)
    session = await rows.afirst()
    if session is None:
        raise NotFoundError(
            "Tasks are scheduled in conversations that the site keeps, and this is none: an agent that is used as a "
            "tool has to leave it to the agent that calls it."
        )
    return session


def _told(row: ScheduledTask, tool_context: ToolContext) -> dict[str, Any]:
    """What the model reads of a task."""
    next_at = row.next_at and row.next_at.astimezone(now_for(tool_context.state, row.time_zone).tzinfo)
    told = {
        "id": row.pk,
        "task": row.task,
        "next_at": next_at and next_at.isoformat(timespec="seconds"),
        "how_often": row.how_often,
        "runs": row.runs,
        "most_runs": row.most_runs,
        "ends_at": row.ends_at and row.ends_at.isoformat(timespec="seconds"),
    }
    return {name: value for name, value in told.items() if value is not None}
