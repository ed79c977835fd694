"""Reconcile jobs, answers, invocations and scheduled tasks of a session with the effective events after a rewind.

The rewind is one event. All else is derived from the effective events and written here, step by step, outside of the
event's transaction: each step is idempotent, and a crash in between is repaired by repeating all of them
(`rewind.finish_interrupted_rewind`).
"""

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Concat, Now

from runtime.events.calls import MadeCalls
from runtime.events.rewound import drop_rewound
from sessions_app.base import client_ids
from sessions_app.base.actors import Actor
from sessions_app.history.effective_events import effective_events
from sessions_app.invocations.waiting_calls import sync_answer_requests, waiting_invocations
from sessions_app.jobs.cancel import cancel_job
from sessions_app.jobs.response import queue_response
from sessions_app.live.notices import invocation_notice, schedule_notice
from sessions_app.live.process import live
from sessions_app.models import Invocation, InvocationStatus, Session, ToolJob
from sessions_app.process.threads import fetch_rows, in_thread
from sessions_app.remembering.facts import withdraw_rewound_facts
from sessions_app.scheduling.session_tasks import cancel_task
from sessions_app.store.session_service import DjangoSessionService
from sessions_app.store.sql import session_lease

UNDONE = "The conversation was taken back to before its call."
"""Reason of a cancellation, for staff."""


async def reconcile_after_rewind(session: Session, lease_token: int, by: Actor) -> None:
    """Cancel work of rewound events, and reopen the calls without an answer in the effective events. Idempotent.

    Args:
        lease_token: token of the session's lease, which the caller holds.

    Raises:
        StaleLeaseError: the lease was lost.
    """
    events = await effective_events(session)
    pending = MadeCalls(events).pending()
    calls = {made.call.id or "" for made in pending}
    waiting = waiting_invocations(pending)
    steps: list[Callable[[], Awaitable[None]]] = [
        partial(_cancel_rewound_jobs, session, calls, by),
        partial(_cancel_rewound_answers, session, calls),
        partial(_cancel_rewound_invocations, session, waiting),
        partial(_reopen_invocations, session, waiting),
        partial(_reopen_calls, session, lease_token, calls),
        partial(sync_answer_requests, session.pk, session.app_name, pending, lease_token),
        partial(_cancel_rewound_tasks, session, by),
        partial(in_thread, withdraw_rewound_facts, session.pk),
    ]
    for step in steps:
        # In a slow process the lease may expire. The sweep then reconciles the session, which goes on, and the events
        # read above are old.
        await session_lease.require(session.pk, lease_token)
        await step()


async def _cancel_rewound_jobs(session: Session, calls: Collection[str], by: Actor) -> None:
    """Cancel the jobs of rewound calls, and mark them as delivered: they must never answer."""
    # Marked first: `cancel_job` queues the response of an undelivered job.
    unsettled = ToolJob.objects.undelivered() | ToolJob.objects.open()
    jobs = unsettled.filter(session=session).exclude(call_id__in=calls)
    job_ids = await fetch_rows(jobs.values_list("pk", flat=True))
    await in_thread(ToolJob.objects.filter(pk__in=job_ids).update, delivered_at=Now())
    for job_id in job_ids:
        await in_thread(cancel_job, job_id, by=by, reason=UNDONE)


async def _cancel_rewound_answers(session: Session, calls: Collection[str]) -> None:
    """Cancel queued answers to rewound calls, and results of their jobs."""
    # The lease keeps invocations from running during the rewind, but answers may be queued.
    rewound_jobs = ToolJob.objects.filter(session=session).exclude(call_id__in=calls)
    of_jobs = [client_ids.of_job(id) for id in await fetch_rows(rewound_jobs.values_list("pk", flat=True))]
    kept = [client_ids.of_answer(call_id) for call_id in calls]
    is_answer = Q(client_id__startswith=client_ids.ANSWER) & ~Q(client_id__in=kept)
    queued = session.invocations.filter(is_answer | Q(client_id__in=of_jobs), status=InvocationStatus.QUEUED)
    await _cancel_rows(session, queued)


async def _cancel_rewound_invocations(session: Session, waiting: Collection[str]) -> None:
    rows = session.invocations.filter(status=InvocationStatus.WAITING).exclude(invocation_id__in=waiting)
    await _cancel_rows(session, rows)


async def _reopen_invocations(session: Session, waiting: Collection[str]) -> None:
    """Let ended invocations wait again when their calls are in effect again, or the answer was rewound."""
    ended = (InvocationStatus.CANCELLED, InvocationStatus.COMPLETED)
    rows = session.invocations.filter(status__in=ended, cancel_requested_at=None, invocation_id__in=waiting)
    await _set_status(session, rows, InvocationStatus.WAITING)


async def _cancel_rows(session: Session, rows: QuerySet[Invocation]) -> None:
    await _set_status(session, rows, InvocationStatus.CANCELLED)


async def _set_status(session: Session, rows: QuerySet[Invocation], status: InvocationStatus) -> None:
    for row in await fetch_rows(rows):
        # The conditions of `rows` again: after a lost lease, another process may have begun the invocation.
        if await in_thread(rows.filter(pk=row.pk).update, status=status, finished_at=Now()):
            live().hub.publish_notice(session.pk, invocation_notice(row.invocation_id, row.client_id, status))


async def _reopen_calls(session: Session, lease_token: int, calls: Collection[str]) -> None:
    """Accept answers again for calls without an answer in effect. Ended jobs answer now, other jobs at their end."""
    for job_id in await in_thread(_forget_answers, session, lease_token, calls):
        await in_thread(queue_response, job_id)


def _forget_answers(session: Session, lease_token: int, calls: Collection[str]) -> list[UUID]:
    """Forget all answers to the calls that are not queued; return the jobs of these calls."""
    with transaction.atomic():
        # Until the commit no answer is queued and none begins: it would be taken as rewound.
        leased = Session.objects.filter(pk=session.pk, lease_token=lease_token)
        if not leased.select_for_update(no_key=True).exists():
            return []
        queued = session.invocations.filter(status=InvocationStatus.QUEUED)
        queued_client_ids = set(queued.values_list("client_id", flat=True))
        # Also jobs that are not marked as delivered: the process that queued the answer may have died before.
        jobs = ToolJob.objects.filter(session=session, call_id__in=calls)
        all_ids = jobs.values_list("pk", flat=True)
        job_ids = [job_id for job_id in all_ids if client_ids.of_job(job_id) not in queued_client_ids]
        answers = [*map(client_ids.of_answer, calls), *map(client_ids.of_job, job_ids)]
        # Rewound invocations give up their client ids. Otherwise the next answer would count as a repetition.
        rewound = session.invocations.filter(client_id__in=answers).exclude(client_id__in=queued_client_ids)
        rewound.update(client_id=Concat(Value(client_ids.UNDONE), F("invocation_id")))
        ToolJob.objects.filter(pk__in=job_ids).update(delivered_at=None)
    return job_ids


async def _cancel_rewound_tasks(session: Session, by: Actor) -> None:
    """Cancel scheduled tasks created by rewound invocations, and their queued runs."""
    tasks = await fetch_rows(session.scheduled_tasks.active())
    if not tasks:
        return
    loaded = await DjangoSessionService().get_session(**session.runtime_args)
    kept = {event.invocation_id for event in drop_rewound(loaded.events)} if loaded else set()
    for task in tasks:
        if task.invocation_id not in kept:
            cancelled = await in_thread(cancel_task, session.pk, task.pk, by, UNDONE)
            live().hub.publish_notice(session.pk, schedule_notice(cancelled))
            runs = session.invocations.filter(
                status=InvocationStatus.QUEUED, client_id__startswith=client_ids.of_schedule(task.pk, "")
            )
            await _cancel_rows(session, runs)
