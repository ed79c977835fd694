"""An MCP server is used in the same way over each transport (contract T13)."""

from __future__ import annotations

import asyncio

import pytest

from runtime.context import Context
from runtime.tools.mcp_tool import McpToolset
from runtime.tools.mcp_tool.connection_params import ConnectionParams
from tests.unit.runtime.tools.mcp.calls import call, text_of, tool_of


async def test_tools_are_found_and_called(toolset: McpToolset, context: Context) -> None:
    declared = (await tool_of(toolset, "add"))._get_declaration()
    assert declared and declared.description == "Add two numbers."
    schema = declared.parameters_json_schema or {}
    assert schema["type"] == "object" and schema["required"] == ["a"]
    assert schema["properties"]["b"] == {"default": 1, "title": "B", "type": "integer"}
    response = await call(toolset, context, "add", a=2)
    assert response == {
        "content": [{"type": "text", "text": "3"}], "structuredContent": {"result": 3}, "isError": False
    }  # fmt: skip


async def test_a_failure_of_the_tool_is_a_result_that_the_model_can_read(
    toolset: McpToolset, context: Context
) -> None:
    response = await call(toolset, context, "fail")
    assert response["isError"] is True
    assert "The shop is closed." in text_of(response)


async def test_a_cancelled_call_is_cancelled_on_the_server(toolset: McpToolset, context: Context) -> None:
    begun = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert (progress, total, message) == (1, 4, "begun")
        begun.set()

    slow = await tool_of(toolset, "slow")
    vars(slow)["_progress_callback"] = note
    running = asyncio.create_task(slow.run_async(args={}, tool_context=context))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    response = await call(toolset, context, "wait_until_cancelled")
    assert text_of(response) == "cancelled"


async def test_a_big_result_arrives_whole(toolset: McpToolset, context: Context) -> None:
    response = await call(toolset, context, "big", characters=200_000)
    assert text_of(response) == "ä" * 200_000


async def test_calls_at_the_same_time_share_one_connection(
    params: ConnectionParams, context: Context
) -> None:
    first, second = McpToolset(connection_params=params), McpToolset(connection_params=params)
    calls = [call(toolset, context, "pid") for toolset in (first, second) for _ in range(10)]
    responses = await asyncio.gather(*calls)
    assert len({response["structuredContent"]["result"] for response in responses}) == 1
    await first.close()
    assert (await call(second, context, "add", a=1))["structuredContent"] == {"result": 2}
    await second.close()
