"""Calling a scheduled task off."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from sessions_app.errors import NotFoundError
from sessions_app.models import ScheduledTask


def cancel_task(session_id: UUID, task_id: int, user_id: Any) -> ScheduledTask:
    """Cancel the task, unless it is over. What it has begun already goes on.

    Raises:
        NotFoundError: the session has none of that number.
    """
    of_session = ScheduledTask.objects.filter(session_id=session_id)
    rows = of_session.filter(pk=task_id)
    rows.active().update(next_at=None, cancelled_at=Now(), cancelled_by_id=user_id)
    found = rows.first()
    if found is None:
        known = ", ".join(str(pk) for pk in of_session.active().values_list("pk", flat=True))
        raise NotFoundError(
            f"There is no scheduled task {task_id} in this conversation. Those to come: {known or 'none'}."
        )
    return found
