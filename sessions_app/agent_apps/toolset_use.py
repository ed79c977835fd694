"""Use of toolsets by an event loop: toolsets of replaced agents are closed when nothing uses them any more.

A toolset holds connections of its own for each event loop, so each loop closes its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from runtime.agents.toolsets import toolsets_of
from runtime.apps.app import App
from runtime.callbacks import close_each
from runtime.tools.base_toolset import BaseToolset
from sessions_app.agent_apps import registry
from sessions_app.process.loop_local import LoopLocal

logger = logging.getLogger(__name__)


class _Uses:
    """Apps that one event loop has used, as long as their toolsets may be open.

    Attributes:
        apps: the apps by `id()`.
        counts: numbers of invocations and jobs that use an app now, by `id()` of the app.
        closings: tasks that close toolsets.
    """

    def __init__(self) -> None:
        self.apps: dict[int, App] = {}
        self.counts: Counter[int] = Counter()
        self.closings: set[asyncio.Task[None]] = set()

    def close_unused(self) -> None:
        """Close the toolsets of replaced apps that nothing uses, in a task: an answer must not wait for it.

        A failure is logged: it must not replace the result or the error of the invocation that has just ended.
        """
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
        kept = {id(toolset) for toolset in _toolsets([*served.values(), *self.apps.values()])}
        if closing := [toolset for toolset in _toolsets(removed) if id(toolset) not in kept]:
            task = asyncio.create_task(_close(closing), name="close toolsets of replaced agents")
            self.closings.add(task)
            task.add_done_callback(self.closings.discard)


_uses = LoopLocal(_Uses)


@contextmanager
def using(app: App) -> Iterator[None]:
    """Keep the toolsets of the app open on the running loop, even if a newer version replaces the app meanwhile."""
    uses = _uses.get()
    uses.apps[id(app)] = app
    uses.counts[id(app)] += 1
    try:
        yield
    finally:
        uses.counts[id(app)] -= 1
        uses.close_unused()


async def close_used_toolsets() -> None:
    """Close all toolsets that the running loop may have opened, at the end of the loop."""
    uses = _uses.pop() or _Uses()
    await asyncio.gather(*uses.closings)
    await _close(_toolsets([*registry.apps().values(), *uses.apps.values()]))


def _toolsets(apps: Iterable[App]) -> list[BaseToolset]:
    found = {id(toolset): toolset for app in apps for toolset in toolsets_of(app.root_agent)}
    return list(found.values())


async def _close(toolsets: Iterable[BaseToolset]) -> None:
    for failure in await close_each((type(toolset).__name__, toolset.close) for toolset in toolsets):
        logger.error("A toolset was not closed: %s", failure)
