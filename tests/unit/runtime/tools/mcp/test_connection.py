"""A connection to an MCP server: opened once, replaced when it is lost, closed at the end (contract T13)."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from pathlib import Path

import httpx2
import pytest
from mcp.client._memory import InMemoryTransport
from mcp.server import MCPServer

from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.tools.mcp_allow_list import set_allowed_mcp_servers
from runtime.tools.mcp_tool import (
    McpToolset,
    SseConnectionParams,
    StdioConnectionParams,
    StdioServerParameters,
)
from runtime.tools.mcp_tool import server as open_connections
from runtime.tools.mcp_tool.connection import (
    Challenge,
    ConnectionLostError,
    McpConnection,
    McpConnectionError,
    SignInNeededError,
)
from tests.echo_server import EchoServer, Reply
from tests.free_port import free_port
from tests.mcp_process import SECONDS, STDIO, http_params, running_server, stdio_params
from tests.unit.runtime.tools.mcp.calls import call, text_of, tool_of


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def pid_of(toolset: McpToolset, context: Context) -> int:
    return int(text_of(await call(toolset, context, "pid")))


async def test_a_call_on_which_the_server_dies_is_an_error_and_the_next_one_reaches_a_new_server(
    context: Context,
) -> None:
    toolset = McpToolset(connection_params=stdio_params())
    first = await pid_of(toolset, context)
    response = await call(toolset, context, "die")
    assert "was lost. It is not known if the call has taken effect." in response["error"]
    second = await pid_of(toolset, context)
    assert second != first
    await toolset.close()
    assert not is_running(first) and not is_running(second)


@pytest.mark.parametrize("options", [[], ["--legacy"]], ids=["sessionless", "with sessions"])
async def test_a_restarted_http_server_is_reached_again(options: list[str], context: Context) -> None:
    port = free_port()
    toolset = McpToolset(connection_params=http_params(port))
    with running_server("http", port, *options):
        add = await tool_of(toolset, "add")
        first = await pid_of(toolset, context)
    with pytest.raises(McpConnectionError, match=rf"'http://127.0.0.1:{port}/mcp' cannot be reached"):
        await toolset.get_tools()
    with running_server("http", port, *options):
        assert (await add.run_async(args={"a": 1}, tool_context=context))["structuredContent"] == {
            "result": 2
        }
        assert await pid_of(toolset, context) != first
    await toolset.close()


async def test_a_server_that_has_forgotten_the_session_gets_the_call_in_a_new_one(context: Context) -> None:
    port = free_port()
    toolset = McpToolset(connection_params=http_params(port))
    with running_server("http", port, "--legacy"):
        add = await tool_of(toolset, "add")
    with running_server("http", port, "--legacy"):
        assert (await add.run_async(args={"a": 4}, tool_context=context))["structuredContent"] == {
            "result": 5
        }
        await toolset.close()


def test_the_end_of_the_event_loop_ends_the_server() -> None:
    """`asyncio.run` cancels the task that holds the connection."""

    async def start_server() -> int:
        connection = open_connections.connection_of(
            test_the_end_of_the_event_loop_ends_the_server, params, {}
        )
        result = await connection.request(lambda client: client.call_tool("pid"))
        process: int = (result.structured_content or {})["result"]
        assert is_running(process)
        return process

    params = stdio_params()
    assert not is_running(asyncio.run(start_server()))
    assert not is_running(asyncio.run(start_server()))  # a loop never gets the connection of another


async def test_a_program_that_is_not_there_is_named(context: Context) -> None:
    missing = StdioConnectionParams(server_params=StdioServerParameters(command="no-such-program"))
    with pytest.raises(McpConnectionError, match=r"'no-such-program' cannot be reached: .*No such file"):
        await McpToolset(connection_params=missing).get_tools()


async def test_a_question_mark_in_the_name_of_a_program_is_shown() -> None:
    missing = StdioConnectionParams(server_params=StdioServerParameters(command="what?ever"))
    with pytest.raises(McpConnectionError, match=r"cannot be reached: .*No such file.*'what\?ever'"):
        await McpToolset(connection_params=missing).get_tools()


async def test_a_server_that_cannot_be_reached_is_asked_once(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    program = StdioServerParameters(command="sh", args=["-c", f"echo start >> {starts}"])
    with pytest.raises(McpConnectionError, match="cannot be reached"):
        await McpToolset(connection_params=program).get_tools()
    assert starts.read_text() == "start\n"


async def test_a_program_that_does_not_answer_is_given_up_and_ended() -> None:
    silent = StdioServerParameters(command=sys.executable, args=["-c", "import sys; sys.stdin.read()"])
    toolset = McpToolset(connection_params=StdioConnectionParams(server_params=silent, timeout=0.5))
    with pytest.raises(McpConnectionError, match=r"it did not answer within 0\.5 s"):
        await toolset.get_tools()
    await toolset.close()


async def test_a_call_that_takes_too_long_is_an_error_for_the_model(context: Context) -> None:
    params = stdio_params().model_copy(update={"read_timeout": 0.5})
    toolset = McpToolset(connection_params=params)
    response = await call(toolset, context, "slow")
    assert "timed out" in response["error"]
    assert text_of(await call(toolset, context, "wait_until_cancelled")) == "cancelled"
    await toolset.close()


async def test_an_invocation_that_is_cancelled_while_the_server_starts_does_not_harm_others(
    context: Context,
) -> None:
    toolset = McpToolset(connection_params=stdio_params())
    first, second = (asyncio.create_task(toolset.get_tools()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert [tool.name for tool in await second]
    await toolset.close()


async def test_the_connection_of_a_silent_person_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_connections, "PERSONAL_IDLE_SECONDS", 0.05)
    port = free_port()
    with running_server("http", port):
        params = http_params(port)
        connection = open_connections.connection_of(monkeypatch, params, {"Authorization": "Bearer ada"})
        page = await connection.request(lambda client: client.list_tools())
        assert page.tools
        await asyncio.wait([connection._task])
        assert not connection.is_usable
        assert open_connections.connection_of(monkeypatch, params, {"Authorization": "Bearer ada"}).is_usable
        await open_connections.release(monkeypatch)


@pytest.mark.parametrize(
    "allowed", [[], ["http://127.0.0.1/"], [f"{STDIO.command} -m tests.other"], ["sh -c"]]
)
async def test_a_server_that_is_not_on_the_list_is_not_started(allowed: list[str]) -> None:
    set_allowed_mcp_servers(allowed)
    try:
        with pytest.raises(ConfigurationError, match="is not on the list of servers that agents may reach"):
            await McpToolset(connection_params=stdio_params()).get_tools()
    finally:
        set_allowed_mcp_servers(None)


async def test_an_address_with_a_key_is_not_shown_when_the_server_refuses_it() -> None:
    with EchoServer() as server:
        server.routes["/sse"] = lambda _: Reply(403)
        toolset = McpToolset(connection_params=SseConnectionParams(url=f"{server.url}/sse?key=s3cr3t"))
        with pytest.raises(McpConnectionError) as caught:
            await toolset.get_tools()
        await toolset.close()
    assert "status 403" in str(caught.value)
    assert "s3cr3t" not in "".join(traceback.format_exception(caught.value))


async def test_an_address_with_a_key_is_not_shown_when_the_client_cannot_read_it() -> None:
    url = "http://ada:s3cr3t@127.0.0.1:99999999/sse?key=s3cr3t"
    toolset = McpToolset(connection_params=SseConnectionParams(url=url))
    with pytest.raises(McpConnectionError) as caught:
        await toolset.get_tools()
    assert "s3cr3t" not in "".join(traceback.format_exception(caught.value))


async def test_a_connection_lost_on_a_read_says_nothing_of_the_effect_of_calls() -> None:
    toolset = McpToolset(connection_params=stdio_params("--hostile"))
    with pytest.raises(McpConnectionError, match=r"was lost\.$"):
        await toolset.read_resource("death")
    await toolset.close()


async def test_the_refusal_of_a_request_leaves_others_alone_and_lets_none_be_sent_twice() -> None:
    server = MCPServer("shop")
    steps: asyncio.Queue[str] = asyncio.Queue()
    may_end = asyncio.Event()

    @server.tool()
    async def pay() -> str:
        steps.put_nowait("begun")
        await may_end.wait()
        return "paid"

    challenge = Challenge()
    connection = McpConnection(
        "shop", InMemoryTransport(server), timeout=SECONDS, read_timeout=SECONDS, challenge=challenge
    )
    paying = asyncio.create_task(connection.request(lambda client: client.call_tool("pay")))
    await steps.get()
    await challenge.note(httpx2.Response(401))
    with pytest.raises(SignInNeededError):
        await connection.request(lambda client: client.read_resource("shop://refused"))
    may_end.set()
    assert "paid" in str((await paying).content)
    may_end.clear()
    paying = asyncio.create_task(connection.request(lambda client: client.call_tool("pay")))
    await steps.get()
    await connection.close()
    with pytest.raises(ConnectionLostError):
        await paying
