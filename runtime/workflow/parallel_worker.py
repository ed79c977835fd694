"""Nodes that run once for each item of a list: ParallelWorker, and Node, the base class of an author's own nodes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from pydantic import Field

from runtime._tasks import first_failure, settle
from runtime.errors import ConfigurationError
from runtime.workflow.base_node import BaseNode
from runtime.workflow.errors import NodeWaitsError
from runtime.workflow.node_context import UNLIMITED, NodeContext

_WAITS = object()
"""In place of the output of an item that waits for an answer: the other items continue."""


class ParallelWorker(BaseNode):
    """Runs a node for each item of its input at once; the output is the list of the outputs, in the items' order.

    An input that is no list is one item.

    Attributes:
        worker: node to run.
        max_parallel_workers: maximum number of items at once; None for no limit.
    """

    worker: BaseNode
    max_parallel_workers: int | None = Field(default=None, ge=1)

    def clone(self) -> BaseNode:
        return self.model_copy(update={"worker": self.worker.clone()})

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        items = node_input if isinstance(node_input, list) else [node_input]
        slots = UNLIMITED
        if self.max_parallel_workers:
            slots = asyncio.Semaphore(self.max_parallel_workers)

        async def run(number: int, item: Any) -> Any:
            # The slots are taken for each attempt: an item that waits for its next attempt must not hold up others.
            try:
                return await ctx.run_child_node(
                    self.worker, item, str(number), use_sub_branch=True, slots=slots
                )
            except NodeWaitsError:
                return _WAITS

        outputs = await settle([run(number, item) for number, item in enumerate(items, 1)])
        failure = first_failure(outputs)
        if failure is not None:
            raise failure
        if _WAITS in outputs:
            raise NodeWaitsError
        yield outputs


class Node(BaseNode):
    """A node of an author. Subclasses implement `run_node_impl`.

    Attributes:
        parallel_worker: True to run the node once for each item of the input list.
        max_parallel_workers: maximum number of items at once; None for no limit.
    """

    parallel_worker: bool = False
    max_parallel_workers: int | None = Field(default=None, ge=1)

    def model_post_init(self, context: Any, /) -> None:
        if self.max_parallel_workers is not None and not self.parallel_worker:
            raise ConfigurationError(
                f"max_parallel_workers of node {self.name!r} needs parallel_worker=True."
            )
        super().model_post_init(context)

    async def run_node_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        """Yield events, questions, or the output. Subclasses implement this method."""
        raise NotImplementedError(
            f"Node {self.name!r} ({type(self).__name__}) does not implement run_node_impl."
        )
        yield  # makes this an async generator, as every implementation is

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        if self.parallel_worker:
            single = self.model_copy(update={"parallel_worker": False, "max_parallel_workers": None})
            worker = ParallelWorker(
                name=self.name, worker=single, max_parallel_workers=self.max_parallel_workers
            )
            items = worker.run(ctx=ctx, node_input=node_input)
        else:
            items = self.run_node_impl(ctx=ctx, node_input=node_input)
        async with aclosing(items):
            async for item in items:
                yield item
