"""Answers of other servers are bounded by their decoded size (contract A10, T11, T13)."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from google.protobuf.json_format import MessageToDict
from mcp import MCPError

from runtime.agents.remote_a2a_agent import RemoteA2aAgent
from runtime.events import Event
from runtime.tools.mcp_tool import McpToolset, SseConnectionParams, StreamableHTTPConnectionParams
from runtime.tools.mcp_tool.connection import McpConnectionError
from tests.a2a_server import card_of
from tests.echo_server import EchoServer, Received, Reply
from tests.unit.runtime.conversation import Conversation
from tests.unit.runtime.openapi.specs import spec_of, tool_of

MEGABYTES = 1 << 20
BOMB_MEGABYTES = 400
MOST_MEGABYTES = 150


def bomb() -> bytes:
    """Return a gzip stream of `BOMB_MEGABYTES` spaces, without its end."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    beginning = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    # A full flush forgets what was before, so the same bytes are right again and again.
    block = packer.compress(b" " * MEGABYTES) + packer.flush(zlib.Z_FULL_FLUSH)
    return beginning + block * BOMB_MEGABYTES


def packed(body: bytes, kind: str = "application/json", encoding: str = "gzip") -> Reply:
    return Reply(body=body, headers={"Content-Type": kind, "Content-Encoding": encoding})


BOMBS = [
    packed(bomb()),
    packed(bomb(), "text/event-stream"),
    packed(gzip.compress(bomb()), encoding="gzip, gzip"),
]


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server


@pytest.fixture
def bounded_memory() -> Iterator[None]:
    """Fail if the test holds more than `MOST_MEGABYTES` at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MOST_MEGABYTES * MEGABYTES
    finally:
        tracemalloc.stop()


def serve_agent(server: EchoServer, answer: Reply) -> None:
    card = json.dumps(MessageToDict(card_of(f"{server.url}/rpc"))).encode()
    server.routes["/card"] = lambda received: packed(gzip.compress(card))
    server.routes["/rpc"] = lambda received: answer


async def say(server: EchoServer, **options: Any) -> Event:
    agent = RemoteA2aAgent("oracle", f"{server.url}/card", timeout=60.0, **options)
    return (await Conversation(agent).say("hello"))[-1]


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("answer", BOMBS, ids=["json", "stream", "twice"])
async def test_a_compressed_answer_of_a_remote_agent_is_bounded(server: EchoServer, answer: Reply) -> None:
    serve_agent(server, answer)
    event = await say(server)
    assert event.error_code == "REMOTE_TOO_LARGE"
    assert "more than 40000000 bytes" in (event.error_detail or "")


@pytest.mark.usefixtures("bounded_memory")
async def test_an_answer_to_the_authors_own_client_is_bounded_in_turns_only(server: EchoServer) -> None:
    serve_agent(server, BOMBS[0])
    async with httpx.AsyncClient() as client:
        assert (await say(server, httpx_client=client)).error_code == "REMOTE_TOO_LARGE"
        assert client.event_hooks["response"] == []


@pytest.mark.usefixtures("bounded_memory")
async def test_a_compressed_card_is_bounded(server: EchoServer) -> None:
    server.routes["/card"] = lambda received: BOMBS[0]
    assert "more than 1000000 bytes" in ((await say(server)).error_detail or "")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity"])
async def test_a_compressed_answer_is_read(server: EchoServer, encoding: str) -> None:
    message = {"message": {"role": "ROLE_AGENT", "parts": [{"text": "done"}]}}
    body = f"data: {json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': message})}\n\n".encode()
    encoders: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "identity": bytes,
    }
    encode = encoders[encoding]
    serve_agent(server, packed(encode(body), "text/event-stream", encoding))
    event = await say(server)
    assert (event.text(), event.error_code) == ("done", None)


async def test_an_answer_that_cannot_be_decompressed_is_unreadable(server: EchoServer) -> None:
    serve_agent(server, packed(b"no gzip"))
    assert (await say(server)).error_code == "REMOTE_UNREADABLE"


@pytest.mark.usefixtures("bounded_memory")
async def test_a_compressed_answer_of_an_openapi_service_is_bounded(server: EchoServer) -> None:
    server.routes["/things"] = lambda received: BOMBS[2]
    result = await tool_of(spec_of(server.url)).run_async(args={}, tool_context=None)
    assert "The answer is larger than 1000000 bytes." in result["error"]


def mcp_answer(received: Received, listed: Reply) -> Reply:
    """Answer as an MCP server that lists its tools by `listed`."""
    message = json.loads(received.body or b"{}")
    if message.get("method") == "tools/list":
        return listed
    result = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "shop", "version": "1"},
    }
    answer = {"jsonrpc": "2.0", "id": message.get("id")}
    if message.get("method") == "initialize":
        return Reply(body=json.dumps({**answer, "result": result}).encode())
    error = {"code": -32601, "message": "no such method"}
    return Reply(status=404, body=json.dumps({**answer, "error": error}).encode())


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("answer", BOMBS, ids=["json", "stream", "twice"])
async def test_a_compressed_answer_of_an_mcp_server_is_bounded(server: EchoServer, answer: Reply) -> None:
    server.routes["/mcp"] = lambda received: mcp_answer(received, answer)
    toolset = McpToolset(connection_params=StreamableHTTPConnectionParams(url=f"{server.url}/mcp"))
    with pytest.raises((MCPError, McpConnectionError)):
        await toolset.get_tools()
    await toolset.close()


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("answer", BOMBS, ids=["json", "stream", "twice"])
async def test_a_compressed_stream_of_an_mcp_server_is_bounded(server: EchoServer, answer: Reply) -> None:
    server.routes["/sse"] = lambda received: answer
    toolset = McpToolset(connection_params=SseConnectionParams(url=f"{server.url}/sse"))
    with pytest.raises(McpConnectionError):
        await toolset.get_tools()
    await toolset.close()
