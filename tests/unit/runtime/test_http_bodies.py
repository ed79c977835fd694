"""Answers of other servers are bounded by their decoded size (contract A10, M2, T11, T13)."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from google.protobuf.json_format import MessageToDict
from mcp import MCPError

from runtime import types
from runtime.agents import LlmAgent
from runtime.agents.remote_a2a_agent import RemoteA2aAgent
from runtime.events import Event
from runtime.models import BaseLlm, Claude, Gemini, LiteLlm, OpenAICompatible
from runtime.run_config import RunConfig, StreamingMode
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


@pytest.fixture(scope="module")
def imported_clients() -> None:
    """Import the clients of models before memory is traced: that takes a third of the time."""
    for client in ("anthropic", "lite", "openai"):
        import_module(f"runtime.models.{client}_client")


@pytest.fixture
def bounded_memory(imported_clients: None) -> Iterator[None]:
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


MODELS: dict[str, Callable[[str], BaseLlm]] = {
    "gemini": lambda url: Gemini(model="gemini-x", api_key="k", base_url=url),
    "chat": lambda url: OpenAICompatible(model="m", api_key="k", base_url=f"{url}/v1"),
    "claude": lambda url: Claude(model="claude-x", api_key="k", base_url=url),
    "litellm chat": lambda url: LiteLlm(model="openai/m", api_key="k", base_url=f"{url}/v1"),
    "litellm claude": lambda url: LiteLlm(model="anthropic/claude-x", api_key="k", base_url=url),
}
MODEL_PATHS = {
    False: ["/v1/models/gemini-x:generateContent", "/v1/chat/completions", "/v1/messages"],
    True: ["/v1/models/gemini-x:streamGenerateContent", "/v1/chat/completions", "/v1/messages"],
}


async def ask_model(model: BaseLlm, *, streamed: bool) -> Event:
    mode = StreamingMode.SSE if streamed else StreamingMode.NONE
    return (
        await Conversation(LlmAgent(name="clerk", model=model)).say("hello", RunConfig(streaming_mode=mode))
    )[-1]


@pytest.mark.filterwarnings("ignore:Accessing the:DeprecationWarning")
@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", MODELS)
async def test_a_compressed_answer_of_a_model_is_bounded(
    server: EchoServer, kind: str, streamed: bool, status: int
) -> None:
    bomb = replace(BOMBS[1 if streamed else 0], status=status)
    for path in MODEL_PATHS[streamed]:
        server.routes[path] = lambda received: bomb
    event = await ask_model(MODELS[kind](server.url), streamed=streamed)
    assert event.error_code == "ANSWER_TOO_LARGE"
    assert "more than 64000000 bytes" in (event.error_detail or "")
    assert len(server.received) == 1


async def test_an_endless_answer_to_the_authors_own_client_is_bounded_and_keeps_its_beginning() -> None:
    async def endless() -> AsyncIterator[types.GenerateContentResponse]:
        part = types.Part(text="word " * 100_000)
        candidate = types.Candidate(content=types.Content(parts=[part]))
        while True:
            yield types.GenerateContentResponse(candidates=[candidate])

    async def open_stream(**_: Any) -> AsyncIterator[types.GenerateContentResponse]:
        return endless()

    client = SimpleNamespace(aio=SimpleNamespace(models=SimpleNamespace(generate_content_stream=open_stream)))
    event = await ask_model(Gemini(model="gemini-x", client=client), streamed=True)
    assert (event.error_code, event.text()[:5]) == ("ANSWER_TOO_LARGE", "word ")


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
