"""Background runs: a Celery worker process runs many sessions at once on its event loop, outside of its tasks.

The Celery task ends as soon as the run has begun: an invocation waits for a model most of the time, and a task would
block a worker process for each session. The end of the task says nothing about the invocation, which is alive as long
as its lease is renewed. The sweep resumes an invocation whose lease has expired.
"""

from __future__ import annotations

import asyncio
import logging
import random
from uuid import UUID

from sessions_app.conf import conf
from sessions_app.invocations.worker import worker
from sessions_app.store.sql import leases

logger = logging.getLogger(__name__)

_runs: set[asyncio.Task[None]] = set()
_has_refused = asyncio.Event()


async def run_in_background(session_id: UUID) -> None:
    """Begin to run the session's queue, and return.

    When `worker_sessions` sessions run in this process already, the session stays queued: the next run to end takes
    over a queued session, and the sweep offers the session to other processes.
    """
    # Not a wait for a free slot: the Celery task would hold up the sweeps.
    if len(_runs) >= conf().worker_sessions:
        _has_refused.set()
        return
    run = asyncio.create_task(_run(session_id), name=f"run session {session_id}")
    _runs.add(run)
    run.add_done_callback(_runs.discard)


async def _run(session_id: UUID | None) -> None:
    """Run the session, then sessions refused for lack of a slot."""
    while session_id is not None:
        try:
            has_run = await worker().run_queue(session_id)
            session_id = await _choose_queued_session() if has_run and _has_refused.is_set() else None
        except Exception:
            logger.exception("Session %s was not run; the sweep runs its queue", session_id)
            return


async def _choose_queued_session() -> UUID | None:
    """Return a random queued session; None without queued sessions."""
    # Random: runs that end at the same moment should choose different sessions.
    queued = await leases.sessions_with_abandoned_queue(0)
    if not queued:
        _has_refused.clear()
        return None
    return random.choice(queued)  # noqa: S311 - no secret
