"""Tools of an agent for one step: its own, those of its toolsets, the transfer tool (contract A2, A6, T9)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from runtime.context import InvocationContext, ReadonlyContext
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.engine.transfer import transfer_targets
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.transfer_to_agent_tool import TransferToAgentTool, transfer_to_agent


async def resolve_tools(agent: LlmAgentProtocol, ctx: InvocationContext) -> list[BaseTool]:
    """Return the transfer tool, then the tools in the order of `agent.tools`; toolsets are queried concurrently.

    An agent's own tool that is called `transfer_to_agent` takes the place of the built-in one.
    """
    tools = await tools_of_sources(agent.canonical_tool_sources, ReadonlyContext(ctx))
    targets = transfer_targets(agent)
    if targets and all(tool.name != transfer_to_agent.__name__ for tool in tools):
        return [TransferToAgentTool([target.name for target in targets]), *tools]
    return tools


async def tools_of_sources(
    sources: Sequence[BaseTool | BaseToolset], readonly: ReadonlyContext | None
) -> list[BaseTool]:
    """Return the tools and those of the toolsets, in this order; toolsets are queried concurrently."""
    toolsets = [source for source in sources if isinstance(source, BaseToolset)]
    provided = await asyncio.gather(*(toolset.get_tools_with_prefix(readonly) for toolset in toolsets))
    by_toolset = {id(toolset): tools for toolset, tools in zip(toolsets, provided, strict=True)}
    tools: list[BaseTool] = []
    for source in sources:
        tools += by_toolset[id(source)] if isinstance(source, BaseToolset) else [source]
    return tools
