"""Django app configuration. The methods import when called: the modules need the optional package `mcp`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sessions_app.extensions import Extension

if TYPE_CHECKING:
    from sessions_app.asgi.protocol import Application


class McpConfig(Extension):
    """Serves agents as tools of an MCP server."""

    default = True
    name = "sessions_app.contrib.mcp"
    label = "adk_mcp"
    verbose_name = "MCP server"

    def streams(self) -> Mapping[str, "Application"]:
        from sessions_app.contrib.mcp.endpoint import ROUTE, mcp

        return {ROUTE: mcp}
