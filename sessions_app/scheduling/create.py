"""Creation of scheduled tasks."""

from __future__ import annotations

from django.db import transaction

from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError
from sessions_app.models import ScheduledTask, Session


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
