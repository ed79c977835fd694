"""AgentNode: an agent, or a nested workflow, as a node."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.context import InvocationContext, NodeCall
from runtime.events.event import Event
from runtime.events.node_info import NodeInfo
from runtime.workflow.base_node import BaseNode
from runtime.workflow.node_context import NodeContext
from runtime.workflow.node_data import as_content


class AgentNode(BaseNode):
    """Runs an agent with the node's input as its message.

    The output is the agent's last message; with an `output_schema`, the object in it; of a workflow, its output.
    """

    agent: BaseAgent

    def clone(self) -> BaseNode:
        """Return a node with a copy of the agent."""
        return self.model_copy(update={"agent": self.agent.clone()})

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        message = None if node_input is None else as_content(node_input)
        sees_history = "include_contents" in self.agent.model_fields_set
        call = NodeCall(
            ctx.node_path,
            # The message that began the invocation is in the history already.
            message=None if sees_history and message is ctx.user_content else message,
            sees_history=sees_history,
        )
        invocation = replace(self._invocation(ctx), node=call, user_content=message or ctx.user_content)
        async with aclosing(self.agent.run_async(invocation)) as events:
            async for event in events:
                yield event
        yield self._output(ctx)

    def _invocation(self, ctx: NodeContext) -> InvocationContext:
        """Return the context of the agent's call."""
        return replace(ctx.invocation, agent=self.agent, resuming=ctx.invocation.resuming and ctx.has_begun)

    def _output(self, ctx: NodeContext) -> Any:
        message = ctx.record().message
        schema = self.agent.canonical_output_schema if isinstance(self.agent, LlmAgent) else None
        if schema is not None and message:
            return schema.read_json(message)
        return Event(node_info=NodeInfo(path=ctx.node_path, message_as_output=True)) if message else None
