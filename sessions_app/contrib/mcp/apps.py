"""Django app configuration. The methods import when called: the modules need the optional package `mcp`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sessions_app.extensions import Extension, Page

if TYPE_CHECKING:
    from sessions_app.asgi.protocol import Application


class McpConfig(Extension):
    """Serves agents as tools of an MCP server."""

    default = True
    name = "sessions_app.contrib.mcp"
    label = "adk_mcp"
    verbose_name = "MCP server"

    def streams(self) -> Mapping[str, "Application"]:
        from sessions_app.contrib.mcp.authorization import APPLICATIONS
        from sessions_app.contrib.mcp.endpoint import ROUTE, mcp

        return {ROUTE: mcp, **APPLICATIONS}

    def pages(self) -> Sequence[Page]:
        from sessions_app.contrib.mcp.consent import authorize_program

        return [Page("authorize/", authorize_program, "authorize_program")]
