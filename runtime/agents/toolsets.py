"""Toolsets of an app's agents, for the Runner to close them (contract T9)."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.agents.base_agent import BaseAgent
from runtime.agents.tree import tools_of, trees_of, walk
from runtime.callbacks import close_each
from runtime.errors import ToolsetError
from runtime.tools.base_toolset import BaseToolset


def toolsets_of(root: BaseAgent) -> Iterable[BaseToolset]:
    """Return the toolsets of the tree and of agents used as tools, without repetition."""
    agents = (agent for tree in trees_of(root) for agent in walk(tree))
    toolsets = (tool for agent in agents for tool in tools_of(agent) if isinstance(tool, BaseToolset))
    # By `id()`: toolsets need not be hashable, and several agents may share a toolset.
    return {id(toolset): toolset for toolset in toolsets}.values()


async def close_toolsets(root: BaseAgent) -> None:
    """Close every toolset, even if some fail.

    Raises:
        ToolsetError: some toolsets failed; the message names them.
    """
    toolsets = toolsets_of(root)
    if failures := await close_each((type(toolset).__name__, toolset.close) for toolset in toolsets):
        raise ToolsetError(f"Toolsets failed in close: {'; '.join(failures)}")
