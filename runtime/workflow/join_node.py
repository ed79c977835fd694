"""JoinNode: waits for all nodes before it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from runtime.workflow.base_node import BaseNode
from runtime.workflow.node_context import NodeContext


class JoinNode(BaseNode):
    """Runs once when all nodes before it have ended; its output is a dict of their outputs, by node name.

    In a loop it waits for all of them again, once per round.
    """

    @property
    def waits_for_all(self) -> bool:
        """Return True."""
        return True

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        yield node_input
