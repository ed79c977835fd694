"""Leaving in good order: what a process does when it is told to stop."""

from __future__ import annotations

from sessions_app.db.pool import close_pool
from sessions_app.invocations.worker import close_worker
from sessions_app.live.process import close_live


async def shut_down() -> None:
    """End what runs on this loop with a reason that people see, say so, and close the connections."""
    await close_worker()
    await close_live()
    await close_pool()
