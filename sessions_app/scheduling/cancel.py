"""Cancellation of scheduled tasks."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from sessions_app.errors import NotFoundError
from sessions_app.models import ScheduledTask


def cancel_task(session_id: UUID, task_id: int, user_id: Any) -> ScheduledTask:
    """Cancel the task, unless it is over. Runs that were queued before continue. A failed task is dismissed.

    Raises:
        NotFoundError: The session has no task with this id.
    """
    of_session = ScheduledTask.objects.filter(session_id=session_id)
    matching = of_session.filter(pk=task_id)
    matching.shown().update(next_at=None, cancelled_at=Now(), cancelled_by_id=user_id)
    task = matching.first()
    if task is None:
        active_ids = ", ".join(str(pk) for pk in of_session.active().values_list("pk", flat=True))
        raise NotFoundError(
            f"There is no scheduled task {task_id} in this session. Active tasks: {active_ids or 'none'}."
        )
    return task
