"""Scheduled tasks of a session: list and cancel them."""

from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.errors import NotFoundError
from sessions_app.models import ScheduledTask, SessionAct
from sessions_app.process.threads import in_thread


async def tasks_of_session(session_id: UUID) -> list[ScheduledTask]:
    """Return the active and failed tasks of the session, the next task first."""
    # The query is built in the thread, too: comparing with "" makes a connection object in the calling context.
    return await in_thread(lambda: list(ScheduledTask.objects.filter(session_id=session_id).shown()))


def cancel_task(session_id: UUID, task_id: int, by: Actor, reason: str = "") -> ScheduledTask:
    """Cancel the task, unless it is over; a failed task is no longer shown. Its invocations are not cancelled.

    Raises:
        NotFoundError: The session has no task with this id.
    """
    of_session = ScheduledTask.objects.filter(session_id=session_id)
    matching = of_session.filter(pk=task_id)
    with transaction.atomic():
        if matching.shown().exists():
            act = Act(by, ActionKind.STOP, ("scheduledtask", str(task_id)), reason)
            SessionAct.objects.record(session_id, act)
        is_cancelled = matching.shown().update(
            next_at=None, cancelled_at=Now(), cancelled_by_id=by.user_pk, cancelled_by_name=by.name
        )
        if not is_cancelled:  # Meanwhile somebody else has cancelled the task, or it is over: leave no act.
            transaction.set_rollback(True)
    task = matching.first()
    if task is None:
        active_ids = ", ".join(str(pk) for pk in of_session.active().values_list("pk", flat=True))
        raise NotFoundError(
            f"There is no scheduled task {task_id} in this session. Active tasks: {active_ids or 'none'}."
        )
    return task
