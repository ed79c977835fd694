"""Firing of due scheduled tasks: each due time becomes one invocation of the session."""

from __future__ import annotations

import logging

from django.db.models import Exists, OuterRef, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from runtime.context import new_invocation_id
from sessions_app import client_ids
from sessions_app.celery_dispatch import send_run_session
from sessions_app.codec import content_to_json
from sessions_app.db import invocation_queue, threads
from sessions_app.history.event_marks import wake_up
from sessions_app.history.rewinds import rewound_ranges
from sessions_app.live.notices import schedule_notice
from sessions_app.live.publish import publish_notice_from_thread
from sessions_app.models import Event, Invocation, InvocationStatus, ScheduledTask
from sessions_app.scheduling.cancel import cancel_task

logger = logging.getLogger(__name__)
BATCH_SIZE = 100


def fire_due_tasks() -> None:
    """Fire all due tasks. Idempotent: safe to run in parallel and after a crash at any point."""
    for task in _due_tasks().select_related("session")[:BATCH_SIZE]:
        try:
            _fire(task)
        except Exception:  # one task must not block the others; the next sweep retries
            logger.exception("Could not fire scheduled task %s", task.pk)


def _fire(task: ScheduledTask) -> None:
    """Enqueue an invocation, then advance the task to its next time.

    A retry after a crash in between enqueues the same client id, which adds nothing. Of several processes, only one
    finds the row unchanged and advances it. A task whose call was rewound is cancelled instead: the process that
    rewound the session may have died before it cancelled the task.
    """
    if _is_rewound(task):
        publish_notice_from_thread(
            task.session_id, schedule_notice(cancel_task(task.session_id, task.pk, task.session.user_id))
        )
        return
    run_number = task.runs + 1
    threads.run(
        invocation_queue.enqueue(
            task.session_id,
            user_id=task.session.user_id,
            invocation_id=new_invocation_id(),
            client_id=client_ids.of_schedule(task.pk, run_number),
            message=content_to_json(wake_up(task.task)),
        )
    )
    now = timezone.now()
    unchanged = ScheduledTask.objects.filter(pk=task.pk, runs=task.runs, next_at=task.next_at)
    if unchanged.update(runs=run_number, last_run_at=now, next_at=task.time_after(now)):
        publish_notice_from_thread(task.session_id, schedule_notice(ScheduledTask.objects.get(pk=task.pk)))
    try:
        send_run_session(task.session_id)
    except Exception:  # the broker may be down; the sweeper finds the queued invocation
        logger.warning(
            "Could not notify a worker of scheduled task %s; left to the sweep", task.pk, exc_info=True
        )


def _is_rewound(task: ScheduledTask) -> bool:
    """True when the call that created the task was rewound."""
    rewound = rewound_ranges(task.session_id)
    if not rewound:
        return False
    call = Event.objects.filter(session_id=task.session_id, invocation_id=task.invocation_id).order_by("seq")
    seq = call.values_list("seq", flat=True).first()
    return seq is not None and any(seq in events for events in rewound)


def _due_tasks() -> QuerySet[ScheduledTask]:
    """Return due tasks, without tasks whose last run is still queued, so that runs do not pile up."""
    task_id, runs = (Cast(OuterRef(name), TextField()) for name in ("pk", "runs"))
    last_client_id = Concat(Value(client_ids.SCHEDULE), task_id, Value(":"), runs, output_field=TextField())
    queued = Invocation.objects.filter(
        session=OuterRef("session"), status=InvocationStatus.QUEUED, client_id=last_client_id
    )
    return ScheduledTask.objects.due().exclude(Exists(queued))
