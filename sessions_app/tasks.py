"""Celery tasks: run queued invocations and sweep. Job tools register a task each."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_process_shutdown

from sessions_app.agent_registry import apps
from sessions_app.celery_dispatch import RUN_SESSION, SWEEP, send_run_session
from sessions_app.db import leases, threads
from sessions_app.invocations.background import run_in_background
from sessions_app.invocations.credentials import delete_expired_credentials
from sessions_app.jobs.sweeper import sweep_jobs
from sessions_app.scheduling.firing import fire_due_tasks
from sessions_app.shutdown import shut_down

ABANDONED_AFTER_SECONDS = 5.0

apps()  # importing the agents registers the Celery tasks of their job tools


@shared_task(name=RUN_SESSION, ignore_result=True)
def run_session(session_id: str) -> None:
    """Start running a session's queue if this process has room for another session."""
    threads.run(run_in_background(UUID(session_id)))


@shared_task(name=SWEEP, ignore_result=True)
def sweep() -> None:
    """Recover invocations, queues and jobs of dead processes; start due scheduled tasks.

    Credentials that are kept for too long are deleted.
    """
    for session_id in threads.run(_sessions_to_run()):
        send_run_session(session_id)
    delete_expired_credentials()
    sweep_jobs()
    fire_due_tasks()


async def _sessions_to_run() -> set[UUID]:
    released = await leases.take_back_expired()
    return {*released, *await leases.sessions_with_abandoned_queue(ABANDONED_AFTER_SECONDS)}


@worker_process_shutdown.connect
def _shut_down_worker(**kwargs: Any) -> None:
    threads.run(shut_down())
