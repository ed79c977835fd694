"""What is due becomes an invocation of its session, once for each time."""

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
MOST_AT_ONCE = 100


def fire_due() -> None:
    """One round of the sweep. Safe to run twice at once, and to die anywhere in it."""
    for task in _due().select_related("session")[:MOST_AT_ONCE]:
        try:
            _fire(task)
        except Exception:  # the others do not wait for it; the next round tries again
            logger.exception("Scheduled task %s did not come in time", task.pk)


def _fire(task: ScheduledTask) -> None:
    """Enqueue, then move on to the next time.

    What was undone does not come, also when whoever undid it died before the task was cancelled.
    Who dies in between enqueues the same client id again, which adds nothing. Only one of several who do this at once
    finds the row as it was and moves it on.
    """
    if _is_undone(task):
        publish_notice_from_thread(
            task.session_id, schedule_notice(cancel_task(task.session_id, task.pk, task.session.user_id))
        )
        return
    run = task.runs + 1
    threads.run(
        invocation_queue.enqueue(
            task.session_id,
            user_id=task.session.user_id,
            invocation_id=new_invocation_id(),
            client_id=client_ids.of_schedule(task.pk, run),
            message=content_to_json(wake_up(task.task)),
        )
    )
    now = timezone.now()
    as_it_was = ScheduledTask.objects.filter(pk=task.pk, runs=task.runs, next_at=task.next_at)
    if as_it_was.update(runs=run, last_run_at=now, next_at=task.time_after(now)):
        publish_notice_from_thread(task.session_id, schedule_notice(ScheduledTask.objects.get(pk=task.pk)))
    try:
        send_run_session(task.session_id)
    except Exception:  # the broker may be away: the sweeper finds the forgotten queue
        logger.warning("Nobody was told of scheduled task %s; the sweeper will", task.pk, exc_info=True)


def _is_undone(task: ScheduledTask) -> bool:
    """Whether somebody went back to before the call that scheduled it (spec R3)."""
    rewound = rewound_ranges(task.session_id)
    if not rewound:
        return False
    call = Event.objects.filter(session_id=task.session_id, invocation_id=task.invocation_id).order_by("seq")
    seq = call.values_list("seq", flat=True).first()
    return seq is not None and any(seq in part for part in rewound)


def _due() -> QuerySet[ScheduledTask]:
    """Without those whose last time still waits for its turn: who is slower than the clock is not buried in work."""
    task_id, runs = (Cast(OuterRef(name), TextField()) for name in ("pk", "runs"))
    last = Concat(Value(client_ids.SCHEDULE), task_id, Value(":"), runs, output_field=TextField())
    queued = Invocation.objects.filter(
        session=OuterRef("session"), status=InvocationStatus.QUEUED, client_id=last
    )
    return ScheduledTask.objects.due().exclude(Exists(queued))
