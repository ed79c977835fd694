"""Sessions that a Celery worker runs beside its tasks: one of its processes waits for many models at once.

The task that asked for it has ended by then. Nothing depends on the task: the lease says whether the invocation is
alive, and what is not is taken up again by the sweeper.
"""

from __future__ import annotations

import asyncio
import logging
import random
from uuid import UUID

from sessions_app.conf import conf
from sessions_app.db import leases
from sessions_app.invocations.worker import worker

logger = logging.getLogger(__name__)

_runs: set[asyncio.Task[None]] = set()
_there_was_no_room = asyncio.Event()


async def run_beside(session_id: UUID) -> None:
    """Start to run what is queued in the session.

    While `worker_sessions` run here it is left in the queue: one that ends takes up what waits there, and the sweeper
    tells other processes. No task waits here, so that a sweep always gets its turn.
    """
    if len(_runs) >= conf().worker_sessions:
        _there_was_no_room.set()
        return
    run = asyncio.create_task(_run(session_id), name=f"run session {session_id}")
    _runs.add(run)
    run.add_done_callback(_runs.discard)


async def _run(session_id: UUID | None) -> None:
    """Run the session, then whatever there was no room for."""
    while session_id is not None:
        try:
            has_run = await worker().run_queue(session_id)
            session_id = await _another() if has_run and _there_was_no_room.is_set() else None
        except Exception:
            logger.exception("Session %s was not run; the sweeper finds what is queued in it", session_id)
            return


async def _another() -> UUID | None:
    """Any session that waits: whoever else ends at this moment should not choose the same."""
    waiting = await leases.sessions_with_forgotten_queue(0)
    if not waiting:
        _there_was_no_room.clear()
        return None
    return random.choice(waiting)  # noqa: S311 - no secret
