"""Celery tasks: run invocations and jobs, deliver to webhooks, make vectors, sweep, keep house.

A task carries only an id: the row has the work, so a lost task is sent again by the sweep, and a task that comes twice
finds nothing to do. Each task is bound to one function of a lower layer.

    run_session        sent when a message waits: a worker claims the session's queue
    sweep              every five seconds: repairs, each for one kind of overdue rows
    run_housekeeping   every day: deletions, checks of logs
"""

import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID

from celery import Task, shared_task
from celery.signals import worker_process_shutdown

from sessions_app.agent_apps import registry
from sessions_app.data_protection.leftovers import (
    clear_expired_logins,
    delete_old_accesses,
    delete_orphaned_files,
)
from sessions_app.data_protection.packing import pack_unused_sessions
from sessions_app.data_protection.reading_alerts import reading_alerts
from sessions_app.data_protection.retain import deleted_session_repair, erase_expired_sessions
from sessions_app.extensions import extensions
from sessions_app.history.evidence.integrity import check_some_logs
from sessions_app.history.figures.batches import count_figures, recount_all_sessions
from sessions_app.history.figures.days import delete_old_days
from sessions_app.invocations.answers.escalation import escalations
from sessions_app.invocations.background import run_in_background
from sessions_app.invocations.credentials import delete_expired_credentials
from sessions_app.invocations.held_lease import take_over_expired
from sessions_app.invocations.rewind import finish_interrupted_rewind
from sessions_app.invocations.waiting_calls import repair_requests
from sessions_app.jobs.repairs import job_repairs
from sessions_app.jobs.run_tool import run_tool_job
from sessions_app.models import WebhookDelivery
from sessions_app.process import threads
from sessions_app.process.celery_dispatch import (
    DELIVER_WEBHOOKS,
    EMBED_MEMORY,
    HOUSEKEEPING,
    REMEMBER_FACTS,
    RUN_SESSION,
    RUN_TOOL_JOB,
    SWEEP,
    request_session_run,
)
from sessions_app.process.group_mail import waiting_mails
from sessions_app.process.process_metrics import note_sweep
from sessions_app.process.sweeping import Repair, sweep_over
from sessions_app.remembering import facts
from sessions_app.scheduling.firing import due_task_repair
from sessions_app.shutdown import shut_down
from sessions_app.store import embedding
from sessions_app.store.credential_service import delete_old_credentials
from sessions_app.store.erasing import delete_all_unused_texts
from sessions_app.store.idempotent_requests import delete_old_requests
from sessions_app.store.sql import leases
from sessions_app.webhooks.delivery import (
    DeliveryAttempt,
    Push,
    delete_old_deliveries,
    offer_due_deliveries,
    start_round,
)

logger = logging.getLogger(__name__)
ABANDONED_AFTER_SECONDS = 5.0
"""Age of a queued invocation without a lease after which its session is offered to workers."""

# Importing the agents registers the Celery tasks of their job tools: a worker must know them before it takes work.
registry.apps()


@shared_task(name=RUN_SESSION, ignore_result=True)
def run_session(session_id: str) -> None:
    """Start running a session's queue if this process has room for another session."""
    threads.run(run_in_background(UUID(session_id)))


@shared_task(name=RUN_TOOL_JOB, bind=True, ignore_result=True)
def run_tool(task: Task[Any, None], job_id: str) -> None:
    """Run a function call of a job tool."""
    run_tool_job(task, UUID(job_id))


@shared_task(name=DELIVER_WEBHOOKS, ignore_result=True)
def deliver_webhooks() -> None:
    """Start a round of due deliveries to webhooks."""
    threads.run(start_round(_push_of))


@shared_task(name=EMBED_MEMORY, ignore_result=True)
def embed_memory() -> None:
    """Start making vectors of memory entries."""
    threads.run(embedding.start_round())


@shared_task(name=REMEMBER_FACTS, ignore_result=True)
def remember_facts(session_id: str) -> None:
    """Start taking facts about the user from the new events of an ended session."""
    threads.run(facts.start(UUID(session_id)))


async def _push_of(delivery: WebhookDelivery) -> Push | DeliveryAttempt | None:
    for extension in extensions():
        push = await extension.push_of(delivery)
        if push is not None:
            return push
    return None


@shared_task(name=SWEEP, ignore_result=True)
def sweep() -> None:
    """Take up the work that crashes left, send due work, erase deleted sessions, and count figures."""
    repairs: list[Repair] = [
        _take_back_expired,
        _offer_abandoned_queues,
        _delete_expired_credentials,
        *job_repairs(),
        due_task_repair(),
        *escalations(),
        *reading_alerts(),
        waiting_mails(),
        deleted_session_repair(),
        offer_due_deliveries,
        embedding.offer_waiting_texts,
        facts.offer_ended_sessions,
        count_figures,
    ]
    for extension in extensions():
        repairs += extension.repairs()
    sweep_over(repairs)
    note_sweep()


def _take_back_expired(seconds: float) -> bool:
    """Free sessions whose process died, and send them to workers. True if there may be more."""
    taken_over = threads.run(take_over_expired())
    for session_id, lease_token in taken_over:
        try:
            threads.run(finish_interrupted_rewind(session_id, lease_token))
        except Exception:  # one session must not keep the others from going on
            logger.exception(
                "Session %s was not reconciled after a rewind",
                session_id,
                extra={"session_id": str(session_id)},
            )
    released = threads.run(leases.take_back_expired())
    # Last, because the broker may be away: no later sweep finishes the rewinds of these sessions.
    for session_id in [*dict(taken_over), *released]:
        logger.info("The lease of session %s has expired", session_id, extra={"session_id": str(session_id)})
        request_session_run(session_id)
    return leases.BATCH_SIZE in (len(taken_over), len(released))


def _delete_expired_credentials(seconds: float) -> bool:
    delete_expired_credentials()
    return False


def _offer_abandoned_queues(seconds: float) -> bool:
    """Offer one batch of sessions to workers."""
    # One batch only, hence False: each run of these sessions goes on with further sessions (`run_in_background`).
    for session_id in threads.run(leases.sessions_with_abandoned_queue(ABANDONED_AFTER_SECONDS)):
        request_session_run(session_id)
    return False


@shared_task(name=HOUSEKEEPING, ignore_result=True)
def run_housekeeping() -> None:
    """Delete expired and left-over rows and files, recount figures, and check logs."""
    steps: list[Callable[[], object]] = [
        erase_expired_sessions,
        delete_orphaned_files,
        # Afterwards, so the file that a pack replaces stays until tomorrow: a backup may need it.
        pack_unused_sessions,
        delete_all_unused_texts,
        clear_expired_logins,
        delete_old_credentials,
        delete_old_accesses,
        delete_old_deliveries,
        delete_old_requests,
        repair_requests,
        delete_old_days,
        recount_all_sessions,
        check_some_logs,
    ]
    for extension in extensions():
        steps += extension.housekeeping()
    for step in steps:
        try:
            step()
        except Exception:  # one step must not keep the others from running
            logger.exception("Housekeeping: %s failed; the next run tries again", step)


@worker_process_shutdown.connect
def _shut_down_worker(**kwargs: Any) -> None:
    threads.run(shut_down())
