"""Keeping a new scheduled task."""

from __future__ import annotations

from django.db import transaction

from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError
from sessions_app.models import ScheduledTask, Session


def create_task(wanted: ScheduledTask) -> ScheduledTask:
    """Keep the task, once for its call: asked again, what the first time made is returned as it is by now.

    Raises:
        InvalidInputError: the session has as many as it may.
    """
    with transaction.atomic():
        # Its row first, so that calls of one step are counted one after the other.
        Session.objects.select_for_update().only("pk").get(pk=wanted.session_id)
        of_session = ScheduledTask.objects.filter(session_id=wanted.session_id)
        known = of_session.filter(call_id=wanted.call_id).first()
        if known is not None:
            return known
        limit = conf().schedules_per_session
        if of_session.active().count() >= limit:
            raise InvalidInputError(
                f"{limit} tasks are scheduled in this conversation, as many as it may have. Cancel one of them first."
            )
        wanted.save()
        return wanted
