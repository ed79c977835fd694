"""Graceful shutdown of a process."""

from sessions_app.agent_apps.toolset_use import close_used_toolsets
from sessions_app.invocations.worker import close_worker
from sessions_app.limits.open_sockets import close_open_sockets
from sessions_app.live.process import close_live
from sessions_app.process.pool import close_pool


async def shut_down() -> None:
    """Hand over the running invocations of this loop, flush its frames and close its connections."""
    # Invocations end before what they use: toolsets, the hub, which still publishes their end, and last the pool.
    await close_open_sockets()
    await close_worker()
    await close_used_toolsets()
    await close_live()
    await close_pool()
