"""A process that shuts down ends the MCP servers that it has started."""

from __future__ import annotations

import asyncio
import logging

import pytest

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.context import ReadonlyContext
from runtime.tools import BaseTool, BaseToolset
from runtime.tools.mcp_tool import McpToolset
from sessions_app.shutdown import shut_down
from tests.mcp_process import stdio_params
from tests.served_agents import Served


class Broken(BaseToolset):
    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return []

    async def close(self) -> None:
        raise OSError("it is stuck")


def test_toolsets_are_closed_also_when_one_fails(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    toolset = McpToolset(connection_params=stdio_params())
    agent = LlmAgent(name="clerk", tools=[Broken(), toolset])
    served(App(name="shop", root_agent=agent))

    async def open_and_shut_down() -> set[str]:
        await toolset.get_tools()
        with caplog.at_level(logging.ERROR):
            await shut_down()
        return {task.get_name() for task in asyncio.all_tasks()}

    names = asyncio.run(open_and_shut_down())
    assert not [name for name in names if name.startswith("MCP connection")]
    assert "Broken: it is stuck" in caplog.text
