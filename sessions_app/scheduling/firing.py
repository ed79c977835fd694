"""Firing of due scheduled tasks: each due time becomes one invocation of the session.

A run is queued under the client id of task and run number, then the task's row advances to the next time, on the
condition that the row is unchanged. A crash in between repeats the first step without effect; of two sweeps only one
advances the row.
"""

import logging
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat, Now
from django.utils.translation import gettext_noop

from runtime.valid_text import storable
from sessions_app.base import actors, client_ids
from sessions_app.base.codec import content_to_json
from sessions_app.errors import AgentClosedError
from sessions_app.history.event_marks import wake_up
from sessions_app.history.rewinds import find_rewinds
from sessions_app.live.notices import schedule_notice
from sessions_app.live.publish import publish_notice_from_thread
from sessions_app.models import Event, Invocation, InvocationStatus, ScheduledTask
from sessions_app.process import threads
from sessions_app.process.celery_dispatch import offer_session
from sessions_app.process.pool import UNAVAILABLE
from sessions_app.process.sweeping import OverdueRows, Repair
from sessions_app.scheduling.session_tasks import cancel_task
from sessions_app.sessions.agent_access import usable_names
from sessions_app.store.sql.invocation_queue import NewInvocation, enqueue

logger = logging.getLogger(__name__)


def due_task_repair() -> Repair:
    """Return the repair to fire due tasks. Safe to run in parallel and after a crash at any point."""
    return OverdueRows(_due_tasks, _fire_or_fail)


def _fire_or_fail(task: ScheduledTask) -> None:
    """Fire the task. Unless the failure is an outage, the task fails and is not tried again."""
    try:
        _fire(task)
    except (*UNAVAILABLE, OSError):
        raise  # An outage of PostgreSQL or the network; the next sweep finds the task again.
    except AgentClosedError as error:
        _fail(task, error)
    except Exception as error:
        logger.exception("Scheduled task %s could not be fired", task.pk, extra={"task_id": str(task.pk)})
        _fail(task, error)


def _fire(task: ScheduledTask) -> None:
    """Enqueue an invocation, then advance the task to its next time."""
    # The process that rewound the session may have died before it cancelled the task.
    if _is_rewound(task):
        _publish(cancel_task(task.session_id, task.pk, actors.person(task.session.user)))
        return
    if not usable_names(task.session.user_id, [task.session.app_name]):
        raise AgentClosedError
    # After the time of the query, not after the due time: runs missed during an outage are not made up.
    following = task.time_after(_found_at(task))
    run_number = task.runs + 1
    new = NewInvocation(
        task.session_id,
        user_id=task.session.user_id,
        client_id=client_ids.of_schedule(task.pk, run_number),
        message=content_to_json(wake_up(task.task)),
        by=actors.schedule(task.pk, task.agent_name),
    )
    queued = threads.run(enqueue(new))
    if queued is None:  # The session was just deleted: the task stays due, in case the session is restored.
        return
    fields = {
        "task_id": task.pk,
        "invocation_id": queued.invocation_id,
        "session_id": str(task.session_id),
    }
    logger.info("Scheduled task %s begins its run %d", task.pk, run_number, extra=fields)
    if _unchanged(task).update(runs=run_number, last_run_at=Now(), next_at=following):
        task.runs = run_number
        task.next_at = following
        _publish(task)
    offer_session(task.session_id)


def _fail(task: ScheduledTask, error: Exception) -> None:
    reason = storable(gettext_noop("The task could not be started: {0}").format(error))
    if _unchanged(task).update(next_at=None, error=reason):
        task.next_at = None
        task.error = reason
        _publish(task)


def _publish(task: ScheduledTask) -> None:
    """Show the task in open tabs. Never raises."""
    # The row is stored, and a new connection reads it.
    try:
        publish_notice_from_thread(task.session_id, schedule_notice(task))
    except Exception:
        logger.exception("Scheduled task %s was not shown live", task.pk, extra={"task_id": str(task.pk)})


def _unchanged(task: ScheduledTask) -> QuerySet[ScheduledTask]:
    return ScheduledTask.objects.filter(pk=task.pk, runs=task.runs, next_at=task.next_at)


def _found_at(task: ScheduledTask) -> datetime:
    """Return the database's time at which `_due_tasks` found the task due."""
    found_at: datetime = task.found_at  # type: ignore[attr-defined]
    return found_at


def _is_rewound(task: ScheduledTask) -> bool:
    """Return True if the task's call was rewound."""
    path = find_rewinds(task.session_id).path
    if not path.steps:
        return False
    call = Event.objects.filter(session_id=task.session_id, invocation_id=task.invocation_id).order_by("seq")
    seq = call.values_list("seq", flat=True).first()
    return seq is not None and seq not in path


def _due_tasks() -> QuerySet[ScheduledTask]:
    """Return due tasks, without tasks whose last run is still queued."""
    # Runs must not pile up behind a long invocation.
    task_id, runs = (Cast(OuterRef(name), TextField()) for name in ("pk", "runs"))
    last_client_id = Concat(Value(client_ids.SCHEDULE), task_id, Value(":"), runs, output_field=TextField())
    queued = Invocation.objects.filter(
        session=OuterRef("session"), status=InvocationStatus.QUEUED, client_id=last_client_id
    )
    due = ScheduledTask.objects.due().exclude(Exists(queued))
    return due.select_related("session").annotate(found_at=Now())
