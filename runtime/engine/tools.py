"""Tools of an agent for one step: the transfer tool, the agent's tools, the tools of toolsets (contract A2, A6, T9)."""

import asyncio
from collections.abc import Sequence

from runtime.context import AgentProtocol, InvocationContext, ReadonlyContext
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.transfer_to_agent_tool import TransferToAgentTool, transfer_to_agent


async def resolve_tools(agent: LlmAgentProtocol, ctx: InvocationContext) -> list[BaseTool]:
    """Return the transfer tool, then the tools in the order of `agent.tools`. Query toolsets concurrently.

    An agent's own tool of the name `transfer_to_agent` replaces the built-in tool.
    """
    return _tools_in(await resolve_sources(agent, ctx))


async def resolve_sources(agent: LlmAgentProtocol, ctx: InvocationContext) -> list[BaseTool | BaseToolset]:
    """Return the tools of `resolve_tools`, with each toolset in front of its tools."""
    sources = await _with_tools(agent.canonical_tool_sources, ReadonlyContext(ctx))
    targets = transfer_targets(agent)
    if targets and all(tool.name != transfer_to_agent.__name__ for tool in _tools_in(sources)):
        return [TransferToAgentTool([target.name for target in targets]), *sources]
    return sources


async def tools_of_sources(
    sources: Sequence[BaseTool | BaseToolset], readonly: ReadonlyContext | None
) -> list[BaseTool]:
    """Return the tools, with each toolset replaced by its tools. Query toolsets concurrently."""
    return _tools_in(await _with_tools(sources, readonly))


async def _with_tools(
    sources: Sequence[BaseTool | BaseToolset], readonly: ReadonlyContext | None
) -> list[BaseTool | BaseToolset]:
    toolsets = [source for source in sources if isinstance(source, BaseToolset)]
    if not toolsets:
        return list(sources)
    provided = await asyncio.gather(*(toolset.get_tools_with_prefix(readonly) for toolset in toolsets))
    # By `id()`: toolsets are written by others and need not be hashable.
    tools_of = dict(zip(map(id, toolsets), provided, strict=True))
    found: list[BaseTool | BaseToolset] = []
    for source in sources:
        found.append(source)
        found += tools_of.get(id(source), [])
    return found


def _tools_in(sources: Sequence[BaseTool | BaseToolset]) -> list[BaseTool]:
    return [source for source in sources if isinstance(source, BaseTool)]


def transfer_targets(agent: LlmAgentProtocol) -> list[AgentProtocol]:
    """Return the sub-agents, then the parent, then peers, as the two `disallow_` flags allow."""
    targets: list[AgentProtocol] = [child for child in agent.sub_agents if not child.works_for_parent]
    parent = agent.parent_agent
    # A workflow agent decides itself which sub-agent runs next, and work for the parent ends with a result.
    if parent is None or not parent.offers_transfer or agent.works_for_parent:
        return targets
    if not agent.disallow_transfer_to_parent:
        targets.append(parent)
    if not agent.disallow_transfer_to_peers:
        targets += [peer for peer in parent.sub_agents if peer is not agent and not peer.works_for_parent]
    return targets
