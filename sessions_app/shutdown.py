"""Graceful shutdown of a process."""

from __future__ import annotations

import logging

from runtime.agents.toolsets import close_toolsets
from runtime.errors import ToolsetError
from sessions_app import agent_registry
from sessions_app.db.pool import close_pool
from sessions_app.invocations.worker import close_worker
from sessions_app.limits.open_sockets import close_open_sockets
from sessions_app.live.process import close_live

logger = logging.getLogger(__name__)


async def shut_down() -> None:
    """Hand over the running invocations of this loop, flush its frames and close its connections."""
    await close_open_sockets()
    await close_worker()
    await _close_toolsets()
    await close_live()
    await close_pool()


async def _close_toolsets() -> None:
    """Close what the agents' toolsets hold open in this loop, such as connections to MCP servers."""
    for app in [*agent_registry.apps().values(), *agent_registry.registry().retired]:
        try:
            await close_toolsets(app.root_agent)
        except ToolsetError:  # the process ends all the same
            logger.exception("Toolsets of the app %r were not closed", app.name)
