"""Walking the agents of an app, without running them."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.errors import ConfigurationError
from runtime.tools.agent_tool import AgentTool
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset


def trees_of(root: BaseAgent) -> list[BaseAgent]:
    """The root agent, then the agents that are tools, each the root of a tree of its own."""
    roots, seen = [root], {id(agent) for agent in walk(root)}
    for tree in roots:  # grows meanwhile: an agent that is a tool may have agents as tools
        for tool in (tool for agent in walk(tree) for tool in tools_of(agent)):
            agent = tool.agent if isinstance(tool, AgentTool) else None
            if isinstance(agent, BaseAgent) and id(agent) not in seen:
                roots.append(agent)
                seen.update(id(member) for member in walk(agent))
    return roots


def walk(agent: BaseAgent) -> Iterator[BaseAgent]:
    """The agent and all below it, parents first."""
    yield agent
    yield from agent.descendants()


def refuse_repeated_names(root: BaseAgent) -> None:
    """Check that every agent of the tree has a name of its own.

    Raises:
        ConfigurationError: two have one name; says where they are.
    """
    known: dict[str, BaseAgent] = {}
    for agent in walk(root):
        if agent.name in known:
            raise ConfigurationError(
                f"Two agents of one tree are called {agent.name!r}: {_path(known[agent.name])} and {_path(agent)}. "
                "Give each a name of its own: transfers, events and resuming go by it."
            )
        known[agent.name] = agent


def tools_of(agent: BaseAgent) -> list[BaseTool | BaseToolset]:
    """What the agent's model may call; a toolset is not asked what it offers, which may need a network."""
    return agent.canonical_tool_sources if isinstance(agent, LlmAgent) else []


def _path(agent: BaseAgent) -> str:
    return f"{_path(agent.parent_agent)}.{agent.name}" if agent.parent_agent else agent.name
