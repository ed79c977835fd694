"""Lookup of the tool of a stored function call.

A call may be older than the present code: its tool may be gone, or an agent may not load. A page must show the call
anyway, so nothing here raises.
"""

import logging

from runtime.agents.tree import agents_named, tools_of
from runtime.tools.base_tool import BaseTool
from runtime.tools.declared_parameters import parameter_names
from sessions_app.agent_apps import registry
from sessions_app.rendering.failures import once

logger = logging.getLogger(__name__)
logger.addFilter(once)


def find_tool(app_name: str, agent_name: str, tool_name: str) -> BaseTool | None:
    """Return a tool of an agent; None if there is no such tool, or the agents cannot be loaded.

    Tools of toolsets are not found: a toolset may need the network to list them.
    """
    try:
        app = registry.apps().get(app_name)
    except Exception:  # An agents.py may raise anything.
        logger.exception("The agents cannot be loaded")
        return None
    agents = agents_named(app.root_agent, agent_name) if app else ()
    tools = (tool for agent in agents for tool in tools_of(agent) if isinstance(tool, BaseTool))
    return next((tool for tool in tools if tool.name == tool_name), None)


def argument_order(tool: BaseTool | None) -> dict[str, int]:
    """Return the position of each parameter in the tool's declaration; empty if the tool cannot be declared."""
    try:
        declaration = tool._get_declaration() if tool else None
    except Exception:  # A tool may raise anything.
        logger.exception("Tool %r cannot be declared", tool and tool.name)
        return {}
    return {name: place for place, name in enumerate(parameter_names(declaration))} if declaration else {}
