"""ChildRuns: the nodes that the code of a node runs by `ctx.run_node`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from runtime.errors import ConfigurationError
from runtime.events.node_info import child_path
from runtime.events.node_runs import RunRecord
from runtime.workflow.build import build_node
from runtime.workflow.errors import NodeWaitsError
from runtime.workflow.node_context import Slots
from runtime.workflow.plan import NodeRun

RunNode = Callable[[NodeRun, Slots], Awaitable[RunRecord]]
"""Function of the engine that runs a node to its end, or to its question, and returns its record."""


class ChildRuns:
    """The child runs of one attempt of a node.

    Args:
        parent: run of the node.
    """

    def __init__(self, parent: NodeRun, run_node: RunNode) -> None:
        self._parent = parent
        self._run_node = run_node
        self._numbers: Counter[str] = Counter()
        self._tasks: dict[str, asyncio.Task[RunRecord]] = {}
        self._is_closed = False

    async def run(
        self, node: Any, node_input: Any, run_id: str | None, *, use_sub_branch: bool, slots: Slots
    ) -> Any:
        """Run a node and return its output; see `NodeContext.run_node`.

        Raises:
            NodeWaitsError: the node waits for an answer.
        """
        # Code that runs on after its node has ended, such as a task that nobody has awaited.
        if self._is_closed:
            raise NodeWaitsError
        child = build_node(node)
        if run_id is None:
            self._numbers[child.name] += 1
            run_id = str(self._numbers[child.name])
        path = child_path(self._parent.path, child.name, run_id)
        if path in self._tasks:
            raise ConfigurationError(
                f"run_node has run {path!r} already. Give each run of a node its own run_id."
            )
        branch = self._parent.branch
        if use_sub_branch:
            segment = f"{child.name}@{run_id}"
            branch = f"{branch}.{segment}" if branch else segment
        # A task, because the others go on when one of several waits for an answer.
        task = asyncio.ensure_future(self._run_node(NodeRun(child, path, node_input, branch), slots))
        self._tasks[path] = task
        record = await task
        if not record.has_ended:
            raise NodeWaitsError
        return record.output

    async def settle(self) -> None:
        """Wait for the nodes that still run beside one that waits for an answer: they may ask, too.

        Raises:
            Exception: the failure of one of them.
        """
        self._is_closed = True
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        for task in self._tasks.values():
            task.result()

    async def cancel(self) -> None:
        """Cancel the nodes that still run: their caller has failed, or has not waited for them."""
        self._is_closed = True
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
