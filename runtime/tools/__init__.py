"""Tools: functions, agents and built-in capabilities that a model can use."""

from typing import TYPE_CHECKING, Any

from runtime.auth.auth_tool import AuthToolArguments
from runtime.tools.agent_tool import AgentTool
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.enterprise_search_tool import enterprise_web_search_tool as enterprise_web_search
from runtime.tools.example_tool import ExampleTool
from runtime.tools.exit_loop_tool import exit_loop
from runtime.tools.function_tool import FunctionTool
from runtime.tools.get_user_choice_tool import get_user_choice_tool as get_user_choice
from runtime.tools.google_maps_grounding_tool import google_maps_grounding
from runtime.tools.google_search_tool import google_search
from runtime.tools.load_artifacts_tool import load_artifacts_tool as load_artifacts
from runtime.tools.load_memory_tool import load_memory_tool as load_memory
from runtime.tools.long_running_tool import LongRunningFunctionTool
from runtime.tools.preload_memory_tool import preload_memory_tool as preload_memory
from runtime.tools.tool_confirmation import ToolConfirmation
from runtime.tools.tool_context import ToolContext
from runtime.tools.tool_result import ToolError
from runtime.tools.transfer_to_agent_tool import TransferToAgentTool, transfer_to_agent
from runtime.tools.url_context_tool import url_context
from runtime.tools.vertex_ai_search_tool import VertexAiSearchTool

if TYPE_CHECKING:
    from runtime.tools.mcp_tool import MCPToolset as MCPToolset
    from runtime.tools.mcp_tool import McpToolset as McpToolset

__all__ = [
    "AgentTool",
    "AuthToolArguments",
    "BaseTool",
    "BaseToolset",
    "ExampleTool",
    "FunctionTool",
    "LongRunningFunctionTool",
    "ToolConfirmation",
    "ToolContext",
    "ToolError",
    "TransferToAgentTool",
    "VertexAiSearchTool",
    "enterprise_web_search",
    "exit_loop",
    "get_user_choice",
    "google_maps_grounding",
    "google_search",
    "load_artifacts",
    "load_memory",
    "preload_memory",
    "transfer_to_agent",
    "url_context",
]


def __getattr__(name: str) -> Any:
    """Import the MCP toolset at its first use."""
    # `mcp` is an optional package; importing it here would make it required.
    if name not in ("MCPToolset", "McpToolset"):
        raise AttributeError(f"Module {__name__!r} has no attribute {name!r}.")
    from runtime.tools import mcp_tool

    return getattr(mcp_tool, name)
