"""AgentNode: an agent, or a nested workflow, as a node."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.context import InvocationContext, NodeCall
from runtime.events.calls import response_ids
from runtime.events.event import Event
from runtime.events.invocation_log import node_path_of
from runtime.events.node_info import NodeInfo
from runtime.events.request_input import RequestInput
from runtime.tools.task_tools import finishes_task
from runtime.workflow.base_node import BaseNode
from runtime.workflow.node_context import NodeContext
from runtime.workflow.node_data import as_content


class AgentNode(BaseNode):
    """Runs an agent with the node's input as its message.

    The output is the agent's last message; with an `output_schema`, the object in it; of a workflow, its output. An
    agent with `mode="task"` asks the person by questions of the node until it has called `finish_task`, whose result is
    the output.
    """

    agent: BaseAgent

    def clone(self) -> BaseNode:
        return self.model_copy(update={"agent": self.agent.clone()})

    @property
    def is_task(self) -> bool:
        """True if the agent may talk to the person."""
        return isinstance(self.agent, LlmAgent) and self.agent.mode == "task"

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        call = NodeCall(
            ctx.node_path, input=node_input, sees_history="include_contents" in self.agent.model_fields_set
        )
        user_content = ctx.user_content
        if node_input is not None:
            user_content = as_content(node_input)
            # The message that began the invocation is in the history already.
            if not call.sees_history or user_content is not ctx.user_content:
                call = replace(call, message=user_content)
        if ctx.invocation.node:
            call = replace(call, state_schema=ctx.invocation.node.state_schema)
        invocation = replace(self._invocation(ctx), node=call, user_content=user_content)
        async with aclosing(self.agent.run_async(invocation)) as events:
            async for event in events:
                yield event
        if self.is_task:
            yield self._result_of_task(ctx)
        else:
            yield self._output(ctx)

    def _invocation(self, ctx: NodeContext) -> InvocationContext:
        """Return the context of the agent's call."""
        resuming = ctx.invocation.resuming and ctx.has_begun and not self._is_answered(ctx)
        return replace(ctx.invocation, agent=self.agent, resuming=resuming)

    def _is_answered(self, ctx: NodeContext) -> bool:
        """Return True if the person has answered the node's question, and the agent has not continued yet."""
        if not ctx.resume_inputs:
            return False
        for event in reversed(ctx.invocation.events()):
            if event.author == "user" and response_ids(event) & ctx.resume_inputs.keys():
                return True
            if event.author == self.agent.name and node_path_of(event) == ctx.node_path:
                return False
        return False

    def _result_of_task(self, ctx: NodeContext) -> Any:
        """Return the result; while there is none, a question to the person, unless the agent waits for another."""
        for event in reversed(ctx.invocation.events()):
            if node_path_of(event) == ctx.node_path and finishes_task(event):
                return event.actions.set_model_response
        if ctx.invocation.updated_log().pending_calls(ctx.node_path):
            return None
        return RequestInput(message=ctx.record().message or None)

    def _output(self, ctx: NodeContext) -> Any:
        message = ctx.record().message
        if not message:
            return None
        if isinstance(self.agent, LlmAgent) and self.agent.canonical_output_schema is not None:
            return self.agent.canonical_output_schema.read_json(message)
        return Event(node_info=NodeInfo(path=ctx.node_path, message_as_output=True))
