"""Public import path of `LoadMcpResourceTool`; defined in `runtime.tools.mcp_tool.load_mcp_resource_tool`."""

from runtime.tools.mcp_tool.load_mcp_resource_tool import LoadMcpResourceTool

__all__ = ["LoadMcpResourceTool"]
