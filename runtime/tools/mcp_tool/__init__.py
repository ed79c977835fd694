"""Tools of MCP servers, through the optional package `mcp`."""

from importlib.util import find_spec

from runtime.errors import ConfigurationError, how_to_install

if find_spec("mcp") is None:
    raise ConfigurationError(f"McpToolset needs the package 'mcp': {how_to_install('mcp')}")

from mcp import StdioServerParameters

from runtime.tools.mcp_tool.connection_params import (
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)
from runtime.tools.mcp_tool.mcp_tool import MCPTool, McpTool
from runtime.tools.mcp_tool.mcp_toolset import MCPToolset, McpToolset

__all__ = [
    "MCPTool",
    "MCPToolset",
    "McpTool",
    "McpToolset",
    "SseConnectionParams",
    "StdioConnectionParams",
    "StdioServerParameters",
    "StreamableHTTPConnectionParams",
]
