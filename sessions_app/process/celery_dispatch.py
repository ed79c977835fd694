"""Sending of Celery tasks to workers: jobs, invocations, deliveries.

A task is a hint: the row says what is to be done, and the sweep sends the task again when the broker has lost it. Tasks
are sent by name, because the modules of the tasks are above this layer.

A function `request_…` or `send_…` raises an error if there is no broker; `offer_…` leaves the work to the sweep then,
and `aoffer_…` does so on the event loop, while a thread waits for the broker. `offer_job_in_background` waits for
nothing.
"""

import logging
from uuid import UUID

from celery import current_app

from sessions_app.process.pool import fetch_one
from sessions_app.process.threads import broker_threads, create_task

logger = logging.getLogger(__name__)
JOB_QUEUE = "jobs"
RUN_SESSION = "sessions_app.run_session"
SWEEP = "sessions_app.sweep"
RUN_TOOL_JOB = "sessions_app.run_tool_job"
HOUSEKEEPING = "sessions_app.housekeeping"
DELIVER_WEBHOOKS = "sessions_app.deliver_webhooks"
EMBED_MEMORY = "sessions_app.embed_memory"
REMEMBER_FACTS = "sessions_app.remember_facts"


def send_job(job_id: str | UUID, task_name: str) -> None:
    current_app.send_task(
        task_name, args=[str(job_id)], queue=JOB_QUEUE, task_id=str(job_id), ignore_result=True
    )


def request_session_run(session_id: str | UUID) -> None:
    """Ask a worker to run the session's queue."""
    current_app.send_task(RUN_SESSION, args=[str(session_id)], ignore_result=True)


def request_deliveries() -> None:
    """Ask a worker for a round of due deliveries to webhooks."""
    current_app.send_task(DELIVER_WEBHOOKS, ignore_result=True)


def request_embedding() -> None:
    """Ask a worker to make vectors of memory entries."""
    current_app.send_task(EMBED_MEMORY, ignore_result=True)


def request_facts(session_id: UUID) -> None:
    """Ask a worker for the facts of a session."""
    current_app.send_task(REMEMBER_FACTS, args=[str(session_id)], ignore_result=True)


async def aoffer_deliveries() -> None:
    """Ask a worker for a round of due deliveries to webhooks; without a broker, leave them to the sweep."""
    try:
        await broker_threads.run(request_deliveries)
    except Exception:  # the broker may be unavailable: the sweep finds due deliveries
        logger.warning("No worker could be asked to deliver to webhooks; the sweep asks again", exc_info=True)


def offer_sweep(seconds: float = 0.0) -> None:
    """Ask a worker for a sweep in some seconds; without a broker, wait for the next scheduled sweep."""
    try:
        current_app.send_task(SWEEP, countdown=seconds, ignore_result=True)
    except Exception:  # the broker may be unavailable
        logger.warning("No worker could be asked for a sweep; the next one is scheduled", exc_info=True)


def offer_session(session_id: UUID) -> None:
    """Ask a worker to run the session's queue; without a broker, leave the queue to the sweep."""
    try:
        request_session_run(session_id)
    except Exception:  # the broker may be unavailable: the sweep finds the queue
        logger.warning(
            "Session %s could not be sent to a worker; the sweep sends it",
            session_id,
            exc_info=True,
            extra={"session_id": str(session_id)},
        )


async def aoffer_session(session_id: UUID) -> None:
    """`offer_session` on the event loop."""
    await broker_threads.run(offer_session, session_id)


def offer_job_in_background(job_id: str | UUID, task_name: str) -> None:
    """Send a job without waiting for the broker; without one, leave the job to the sweep."""
    create_task(_send_job(UUID(str(job_id)), task_name), f"send job {job_id}")


async def _send_job(job_id: UUID, task_name: str) -> None:
    try:
        await broker_threads.run(send_job, job_id, task_name)
        await mark_sent(job_id)
    except Exception:  # the broker may be unavailable: the sweep sends jobs without `sent_at`
        logger.warning(
            "Job %s could not be sent; the sweep sends it",
            job_id,
            exc_info=True,
            extra={"job_id": str(job_id)},
        )


async def mark_sent(job_id: UUID) -> None:
    """Store that the broker has accepted the job."""
    # `greatest`: the job may have run already and be due for a retry, for which `sent_at` is in the future.
    query = """
        UPDATE sessions_app_tooljob SET sent_at = greatest(sent_at, now()), sends = sends + 1
        WHERE id = %(job)s RETURNING id"""
    await fetch_one(query, {"job": job_id})
