"""Calls of a toolset's tools."""

from __future__ import annotations

from typing import Any

from runtime.context import Context
from runtime.tools.base_tool import BaseTool
from runtime.tools.mcp_tool import McpToolset


async def tool_of(toolset: McpToolset, name: str) -> BaseTool:
    return next(tool for tool in await toolset.get_tools_with_prefix() if tool.name == name)


async def call(toolset: McpToolset, context: Context, name: str, **args: Any) -> Any:
    return await (await tool_of(toolset, name)).run_async(args=args, tool_context=context)


def text_of(response: dict[str, Any]) -> str:
    text: str = response["content"][0]["text"]
    return text
