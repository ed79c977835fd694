"""The toolsets of an app's agents: what they hold open is released with the Runner (spec T9)."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.agents.base_agent import BaseAgent
from runtime.agents.tree import tools_of, trees_of, walk
from runtime.callbacks import close_each
from runtime.errors import ToolsetError
from runtime.tools.base_toolset import BaseToolset


def toolsets_of(root: BaseAgent) -> Iterable[BaseToolset]:
    """The toolsets of the agent, of all below it, and of the agents that are their tools; each of them once."""
    agents = (agent for tree in trees_of(root) for agent in walk(tree))
    found = (tool for agent in agents for tool in tools_of(agent) if isinstance(tool, BaseToolset))
    return {id(toolset): toolset for toolset in found}.values()


async def close_toolsets(root: BaseAgent) -> None:
    """Close every toolset, also when one fails.

    Raises:
        ToolsetError: names the toolsets that failed.
    """
    toolsets = toolsets_of(root)
    if failures := await close_each((type(toolset).__name__, toolset.close) for toolset in toolsets):
        raise ToolsetError(f"Toolsets failed in close: {'; '.join(failures)}")
