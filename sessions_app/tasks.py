"""What Celery's workers do: run queued invocations, sweep, and the jobs that agents' tools declare."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_process_shutdown

from sessions_app.agent_registry import apps
from sessions_app.celery_dispatch import RUN_SESSION, SWEEP, send_run_session
from sessions_app.db import leases, threads
from sessions_app.invocations.background import run_in_background
from sessions_app.jobs.sweeper import sweep_jobs
from sessions_app.scheduling.firing import fire_due_tasks
from sessions_app.shutdown import shut_down

FORGOTTEN_AFTER_SECONDS = 5.0

apps()  # a job tool becomes a Celery task when the agents that use it are imported


@shared_task(name=RUN_SESSION, ignore_result=True)
def run_session(session_id: str) -> None:
    """Begin to run what is queued in a session, if this process has room for it."""
    threads.run(run_in_background(UUID(session_id)))


@shared_task(name=SWEEP, ignore_result=True)
def sweep() -> None:
    """Take up what dead processes left, invocations, queues, jobs; begin what is due."""
    for session_id in threads.run(_sessions_to_run()):
        send_run_session(session_id)
    sweep_jobs()
    fire_due_tasks()


async def _sessions_to_run() -> set[UUID]:
    freed = await leases.take_back_expired()
    return {*freed, *await leases.sessions_with_forgotten_queue(FORGOTTEN_AFTER_SECONDS)}


@worker_process_shutdown.connect
def _leave(**kwargs: Any) -> None:
    threads.run(shut_down())
