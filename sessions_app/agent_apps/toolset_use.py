"""Closing of toolsets, such as connections to MCP servers, after a reload has replaced their agents.

A replaced app may still run in an invocation or a job. Each event loop counts the uses of its apps by `using`, and
closes the toolsets of a replaced app when its count is zero. Per loop, because a toolset has separate connections for
each.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from runtime.agents.tree import toolsets_of
from runtime.apps.app import App
from runtime.callbacks import close_each
from runtime.tools.base_toolset import BaseToolset
from sessions_app.agent_apps import registry
from sessions_app.process.threads import LoopLocal

logger = logging.getLogger(__name__)


class _Uses:
    """Apps whose toolsets one event loop may have opened.

    Attributes:
        counts: numbers of running invocations and jobs by `id()` of their app.
        closings: tasks closing toolsets.
    """

    def __init__(self) -> None:
        # Holds a reference to each app: `id()` is reused once an object is freed.
        self.apps: dict[int, App] = {}
        self.counts: Counter[int] = Counter()
        self.closings: set[asyncio.Task[None]] = set()

    def close_unused(self) -> None:
        """Close the toolsets of unused, replaced apps. Failures are only logged."""
        # Called at the end of an invocation, whose result or error a failure here would replace.
        try:
            self._close_unused()
        except Exception:
            logger.exception("The toolsets of replaced agents were not closed")

    def _close_unused(self) -> None:
        served = {id(app): app for app in registry.apps().values()}
        unused = [key for key in self.apps if key not in served and not self.counts[key]]
        if not unused:
            return
        removed = [self.apps.pop(key) for key in unused]
        # A new version of an agent may share a toolset with the old one, from a module that was not imported again.
        kept = {id(toolset) for toolset in _toolsets([*served.values(), *self.apps.values()])}
        if closing := [toolset for toolset in _toolsets(removed) if id(toolset) not in kept]:
            # In a task: the answer of the invocation that has just ended must not wait for it.
            task = asyncio.create_task(_close(closing), name="close toolsets of replaced agents")
            self.closings.add(task)
            task.add_done_callback(self.closings.discard)


_uses = LoopLocal(_Uses)


@contextmanager
def using(app: App) -> Iterator[None]:
    """Keep the toolsets of the app open on the running loop during the block, even if a reload replaces the app."""
    uses = _uses.get()
    uses.apps[id(app)] = app
    uses.counts[id(app)] += 1
    try:
        yield
    finally:
        uses.counts[id(app)] -= 1
        uses.close_unused()


async def close_used_toolsets() -> None:
    """Close all toolsets that the running loop may have opened. Call it before the loop ends."""
    uses = _uses.pop() or _Uses()
    await asyncio.gather(*uses.closings)
    await _close(_toolsets([*registry.apps().values(), *uses.apps.values()]))


def _toolsets(apps: Iterable[App]) -> list[BaseToolset]:
    found: dict[int, BaseToolset] = {}
    for app in apps:
        for toolset in toolsets_of(app.root_agent):
            found[id(toolset)] = toolset
    return list(found.values())


async def _close(toolsets: Iterable[BaseToolset]) -> None:
    for failure in await close_each((type(toolset).__name__, toolset.close) for toolset in toolsets):
        logger.error("A toolset was not closed: %s", failure)
