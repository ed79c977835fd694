"""Traversal of an app's agent trees."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.errors import ConfigurationError
from runtime.tools.agent_tool import AgentTool
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset

logger = logging.getLogger(__name__)


def trees_of(root: BaseAgent) -> list[BaseAgent]:
    """Return the root agent, then the agents used as tools, each the root of a tree."""
    roots = [root]
    seen = {id(agent) for agent in walk(root)}
    for tree in roots:  # Grows during the loop: an agent used as a tool may itself have agents as tools.
        for agent in walk(tree):
            for tool in tools_of(agent):
                if not isinstance(tool, AgentTool) or id(tool.agent) in seen:
                    continue
                if isinstance(tool.agent, BaseAgent):
                    roots.append(tool.agent)
                    seen.update(map(id, walk(tool.agent)))
    return roots


def walk(agent: BaseAgent) -> Iterator[BaseAgent]:
    """Yield the agent and all agents below it, parents first."""
    yield agent
    yield from agent.descendants()


def agents_named(root: BaseAgent, name: str) -> Iterator[BaseAgent]:
    """Yield the agents with this name in all trees of an app."""
    for tree in trees_of(root):
        for agent in walk(tree):
            if agent.name == name:
                yield agent


def check_names(root: BaseAgent, *, is_resumable: bool) -> None:
    """Check that the agents of the tree have different names; log a warning for a repeated name.

    Raises:
        ConfigurationError: two agents of a resumable app have the same name; the message shows their paths.
    """
    agents_by_name: dict[str, BaseAgent] = {}
    for agent in walk(root):
        first = agents_by_name.setdefault(agent.name, agent)
        if first is agent:
            continue
        problem = f"Two agents of one tree are called {agent.name!r}: {_path(first)} and {_path(agent)}."
        if is_resumable:
            raise ConfigurationError(
                f"{problem} Give each its own name: a resumed invocation finds its agents by name."
            )
        logger.warning("%s Transfers to this name, and messages that continue it, go to the first.", problem)


def tools_of(agent: BaseAgent) -> list[BaseTool | BaseToolset]:
    """Return the agent's tools and toolsets, without querying the toolsets, which may need a network."""
    return agent.canonical_tool_sources if isinstance(agent, LlmAgent) else []


def _path(agent: BaseAgent) -> str:
    return f"{_path(agent.parent_agent)}.{agent.name}" if agent.parent_agent else agent.name
