"""Sessions that a Celery worker runs beside its tasks: one of its processes waits for many models at once.

The task that asked for it has ended by then. Nothing depends on the task: the lease says whether the invocation is
alive, and what is not is taken up again by the sweeper.
"""

from __future__ import annotations

import asyncio
import logging
from uuid import UUID

from sessions_app.conf import conf
from sessions_app.invocations.worker import worker

logger = logging.getLogger(__name__)

_runs: set[asyncio.Task[None]] = set()


async def run_beside(session_id: UUID) -> None:
    """Start to run what is queued in the session. While `worker_sessions` run here, it waits for one to end."""
    while len(_runs) >= conf().worker_sessions:
        await asyncio.wait(_runs, return_when=asyncio.FIRST_COMPLETED)
    run = asyncio.create_task(_run(session_id), name=f"run session {session_id}")
    _runs.add(run)
    run.add_done_callback(_runs.discard)


async def _run(session_id: UUID) -> None:
    try:
        await worker().run_queue(session_id)
    except Exception:
        logger.exception("Session %s was not run; the sweeper finds what is queued in it", session_id)
