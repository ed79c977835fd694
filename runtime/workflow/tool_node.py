"""ToolNode: a tool as a node."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from pydantic import BaseModel, PrivateAttr, TypeAdapter

from runtime import types
from runtime.agents.llm_agent import LlmAgent
from runtime.context import NodeCall
from runtime.engine.step import run_single_call
from runtime.events.event import Event
from runtime.models.llm_response import text_in
from runtime.tools.base_tool import BaseTool
from runtime.workflow.agent_node import AgentNode
from runtime.workflow.errors import NodeDataError
from runtime.workflow.node_context import NodeContext
from runtime.workflow.node_data import as_json, fit

_ARGUMENTS = TypeAdapter(dict[str, Any])


class ToolCaller(LlmAgent):
    """Owner of the call of a tool node. It never asks its model."""


class ToolNode(AgentNode):
    """Calls a tool with the node's input as its arguments; the output is the tool's result.

    The call is recorded as the call of an agent is. So a tool that asks for a confirmation or a credential waits for
    the answer, and one that runs as a job waits for its result.

    Args:
        tool: the tool.
        name: name of the node; None: the tool's.
    """

    _tool: BaseTool = PrivateAttr()

    def __init__(self, *, tool: BaseTool, name: str | None = None, **fields: Any) -> None:
        owner = ToolCaller(name=name or tool.name, description=tool.description, tools=[tool])
        super().__init__(**{"description": tool.description, **fields}, name=owner.name, agent=owner)
        self._tool = tool

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(self.ask(ctx, self._arguments(ctx, node_input))) as events:
            async for event in events:
                yield event
        yield self.result(ctx)

    async def ask(
        self, ctx: NodeContext, arguments: dict[str, Any], tool: BaseTool | None = None
    ) -> AsyncGenerator[Event, None]:
        """Call the tool once, or finish the recorded call; yield its events. `tool` takes the place of the node's."""
        invocation = replace(self._invocation(ctx), node=NodeCall(ctx.node_path))
        owner = cast("ToolCaller", self.agent)
        calls = run_single_call(owner, invocation, tool or self._tool, arguments)
        async with aclosing(calls) as events:
            async for event in events:
                yield event

    def _arguments(self, ctx: NodeContext, node_input: Any) -> dict[str, Any]:
        """Return the input as arguments: an object as it is, another value as the only parameter's.

        Raises:
            NodeDataError: the tool has several parameters and the input is no object.
        """
        schema = self._parameters()
        names = list(schema.properties or ())
        if isinstance(node_input, types.Content):
            node_input = text_in(node_input)
        if isinstance(node_input, str) and not names:
            node_input = {}
        elif isinstance(node_input, str) and len(names) > 1:
            node_input = fit(node_input, _ARGUMENTS, f"The input of node {self.name!r}")
        if isinstance(node_input, BaseModel):
            node_input = node_input.model_dump()
        if node_input is None:
            node_input = {}
        if not isinstance(node_input, dict):
            if len(names) != 1:
                raise NodeDataError(
                    f"Node {self.name!r} needs an object with the arguments {', '.join(names)}, and its input is "
                    f"{type(node_input).__name__}. Let the node before it return a dict."
                )
            node_input = {names[0]: node_input}
        missing: dict[str, Any] = {}
        for name in schema.required or ():
            if name not in node_input and name in ctx.state:
                missing[name] = ctx.state[name]
        arguments: dict[str, Any] = as_json({**missing, **node_input})
        return arguments

    def _parameters(self) -> types.Schema:
        declaration = self._tool._get_declaration()
        if declaration is None or declaration.parameters is None:
            return types.Schema()
        return declaration.parameters

    def result(self, ctx: NodeContext) -> Any:
        """Return the latest response to the call; None without one."""
        for made in ctx.record().calls:
            if made.call.name == self._tool.name and made.answers:
                return made.latest_answer()
        return None
