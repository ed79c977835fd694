"""Public import path of the connection parameters; defined in `connection_params`."""

from mcp import StdioServerParameters

from runtime.tools.mcp_tool.connection_params import (
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)

SseServerParams = SseConnectionParams
StreamableHTTPServerParams = StreamableHTTPConnectionParams

__all__ = [
    "SseConnectionParams",
    "SseServerParams",
    "StdioConnectionParams",
    "StdioServerParameters",
    "StreamableHTTPConnectionParams",
    "StreamableHTTPServerParams",
]
