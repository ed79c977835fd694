"""Graceful shutdown of a process."""

from __future__ import annotations

from sessions_app.db.pool import close_pool
from sessions_app.invocations.worker import close_worker
from sessions_app.live.process import close_live


async def shut_down() -> None:
    """Hand over the running invocations of this loop, flush its frames and close its connections."""
    await close_worker()
    await close_live()
    await close_pool()
