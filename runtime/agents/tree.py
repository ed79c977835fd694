"""Traversal of an app's agent trees, with the tools and toolsets of the agents."""

import logging
from collections.abc import Iterable, Iterator

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.callbacks import close_each
from runtime.errors import ConfigurationError, ToolsetError
from runtime.events.answer_rules import PERSON, SITE
from runtime.events.calls import FRAMEWORK_CALLS, REMOTE_QUESTIONS
from runtime.tools.agent_tool import AgentTool
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.client_toolset import ClientToolset

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


def walk_trees(root: BaseAgent) -> Iterator[BaseAgent]:
    """Yield the agents of the tree and of agents used as tools, without repetition."""
    for tree in trees_of(root):
        yield from walk(tree)


def agents_named(root: BaseAgent, name: str) -> Iterator[BaseAgent]:
    """Yield the agents with this name in all trees of an app."""
    for agent in walk_trees(root):
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
    if not isinstance(agent, LlmAgent):
        return []
    return agent.canonical_tool_sources


def toolsets_of(root: BaseAgent) -> Iterable[BaseToolset]:
    """Return the toolsets of the tree and of agents used as tools, without repetition."""
    # By `id()`: toolsets need not be hashable, and several agents may share a toolset.
    toolsets: dict[int, BaseToolset] = {}
    for agent in walk_trees(root):
        for tool in tools_of(agent):
            if isinstance(tool, BaseToolset):
                toolsets[id(tool)] = tool
    return toolsets.values()


async def close_toolsets(root: BaseAgent) -> None:
    """Close every toolset, even if some fail.

    Raises:
        ToolsetError: some toolsets failed; the message names them.
    """
    toolsets = toolsets_of(root)
    if failures := await close_each((type(toolset).__name__, toolset.close) for toolset in toolsets):
        raise ToolsetError(f"Toolsets failed in close: {'; '.join(failures)}")


async def answered_by_of_tool(root: BaseAgent, agent_name: str, tool_name: str) -> str:
    """Return who may answer a long-running call: the `answered_by` of its tool (contract T10).

    Return `site` if the agent or tool no longer exists. The person answers the framework's requests, the questions of
    remote agents and the calls of a `ClientToolset`.
    """
    if tool_name in FRAMEWORK_CALLS | REMOTE_QUESTIONS:
        return PERSON
    agent = next((agent for agent in walk(root) if agent.name == agent_name), None)
    if agent is None:
        return SITE
    sources = tools_of(agent)
    for source in sources:
        tools: list[BaseTool] = []
        if isinstance(source, BaseToolset):
            # One after another: a server that cannot be reached is asked only if no tool before has the name.
            tools = await source.get_tools_with_prefix()
        else:
            tools.append(source)
        for tool in tools:
            if tool.name == tool_name:
                return tool.answered_by
    # Only the session knows the names of its client's tools. A call of a tool that the agent does not have is one.
    if any(isinstance(source, ClientToolset) for source in sources):
        return PERSON
    return SITE


def _path(agent: BaseAgent) -> str:
    if agent.parent_agent:
        return f"{_path(agent.parent_agent)}.{agent.name}"
    return agent.name
