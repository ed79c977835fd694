"""Background runs: a Celery worker process runs many sessions at once on its event loop, outside of its tasks.

The Celery task ends as soon as the run has begun: an invocation waits for a model most of the time, and a task would
block a worker process for each session. The end of the task says nothing about the invocation, which is alive as long
as its lease is renewed. The sweep resumes an invocation whose lease has expired.
"""

import asyncio
import logging
from uuid import UUID

from sessions_app.conf import conf
from sessions_app.invocations.worker import worker
from sessions_app.store.sql import leases

logger = logging.getLogger(__name__)

_runs: set[asyncio.Task[None]] = set()


async def run_in_background(session_id: UUID) -> None:
    """Begin to run the session's queue, and return.

    When `worker_sessions` sessions run in this process already, the session stays queued: a run that ends takes over a
    queued session, and the sweep offers the session to other processes.
    """
    # Not a wait for a free slot: the Celery task would hold up the sweeps.
    if len(_runs) >= conf().worker_sessions:
        return
    run = asyncio.create_task(_run(session_id), name=f"run session {session_id}")
    _runs.add(run)
    run.add_done_callback(_runs.discard)


async def _run(first: UUID) -> None:
    """Run the session, then one abandoned session after the other, until there is none."""
    # The sweep offers a batch of abandoned sessions at a time: more would fill the broker when all processes are busy.
    # So each of these runs goes on with a session of its own choice.
    queued = [first]
    while queued:
        try:
            has_run = await worker().run_queue(queued[0])
            queued = await leases.sessions_with_abandoned_queue(0, limit=1) if has_run else []
        except Exception:
            logger.exception(
                "Session %s was not run; the sweep runs its queue",
                queued[0],
                extra={"session_id": str(queued[0])},
            )
            return
