"""The agent `notes`: its MCP server wants a sign-in."""

from __future__ import annotations

import os

from django.conf import settings

from runtime.agents import LlmAgent
from runtime.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams

root_agent = LlmAgent(
    name="notes",
    model=settings.ADK_MODEL,
    tools=[
        McpToolset(
            connection_params=StreamableHTTPConnectionParams(
                url=f"{os.environ['OUTSIDE_NOTES']}/mcp", timeout=60.0
            )
        )
    ],
)
