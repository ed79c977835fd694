"""Answerer: the party that may answer a long-running call, as named by the call's tool (contract T10)."""

from __future__ import annotations

from runtime.agents.base_agent import BaseAgent
from runtime.agents.tree import tools_of, walk
from runtime.events.answer_rules import PERSON, SITE
from runtime.events.calls import FRAMEWORK_CALLS, REMOTE_QUESTIONS
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset


async def answerer_of(root: BaseAgent, agent_name: str, tool_name: str) -> str:
    """Return the `answered_by` of the agent's tool; `site` if the agent or tool no longer exists.

    The framework's requests and the questions of remote agents are for the person.
    """
    if tool_name in FRAMEWORK_CALLS | REMOTE_QUESTIONS:
        return PERSON
    agent = next((agent for agent in walk(root) if agent.name == agent_name), None)
    for source in tools_of(agent) if agent else []:
        for tool in await _tools_in(source):
            if tool.name == tool_name:
                return tool.answered_by
    return SITE


async def _tools_in(source: BaseTool | BaseToolset) -> list[BaseTool]:
    return await source.get_tools_with_prefix() if isinstance(source, BaseToolset) else [source]
