"""A local HTTP server that answers from a script: as Gemini, as an OpenAI-compatible server and as Anthropic.

In an asyncio test:

    async with ModelServer() as server:
        server.play(Turn(text=["Hel", "lo"]))
        model = Gemini(model="gemini-test", api_key="test", base_url=server.url)

For tests in other processes, start `python -m tests.model_server --port 8099` and control it by HTTP: `POST /script`
loads a `Script` given as JSON, `POST /release` continues one held turn, `GET /requests` lists the received requests.
The path chooses the protocol (`tests/dialects/`). Every connection serves one request.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import cast

from tests.dialects.anthropic import AnthropicDialect
from tests.dialects.dialect import Dialect
from tests.dialects.embeddings import EmbeddingServer, answer_with, texts_to_embed
from tests.dialects.gemini import GeminiDialect
from tests.dialects.openai import OpenAIDialect
from tests.model_script import Call, Failure, Json, Rule, Script, Turn

__all__ = ["Call", "Failure", "Json", "ModelServer", "RecordedRequest", "Rule", "Script", "Turn"]

_MODEL_PATH = re.compile(
    r"/v1(?:beta)?/models/(?P<model>[^:]+):(?P<method>generateContent|streamGenerateContent)"
)
_GEMINI = GeminiDialect()
_DIALECTS: dict[str, Dialect] = {
    "/v1/chat/completions": OpenAIDialect(),
    "/v1/messages": AnthropicDialect(),
}
TITLES = "Give the conversation below a title"
"""Beginning of the instruction in `sessions_app.invocations.titles`, after the first answer of each chat."""
_CACHES_PATH = re.compile(r"/v1(?:beta)?/cachedContents")


@dataclass
class RecordedRequest:
    """One request to a model. `disconnected` is set when the client disconnects before the answer is complete."""

    model: str
    stream: bool
    headers: dict[str, str]
    body: Json
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def last_content(self) -> str:
        return json.dumps((self.body.get("contents") or self.body["messages"])[-1])

    def as_json(self) -> Json:
        return {
            "model": self.model,
            "stream": self.stream,
            "body": self.body,
            "disconnected": self.disconnected.is_set(),
        }


class ModelServer:
    """The server, as an asynchronous context manager.

    Attributes:
        rule: a function that may choose the turn for a request; it is tried before the script.
        cached: the bodies of all requests to create a cached content.
        cache_failure: the failure that answers such requests; None answers with success.
        cache_expires: the expiry time of created cached contents.
        embeddings: answers to requests for embeddings; they are no part of the script.
        served_models: the models that `GET /v1/models` lists.
    """

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        self.requests: list[RecordedRequest] = []
        self.cached: list[Json] = []
        self.cache_failure: Failure | None = None
        self.cache_expires = "2999-01-01T00:00:00Z"
        self.embeddings = EmbeddingServer()
        self.served_models = ["served-model"]
        self.rule: Callable[[RecordedRequest], Turn | None] = lambda request: None
        self._script = Script()
        self._arrived: asyncio.Queue[RecordedRequest] = asyncio.Queue()
        self._releases = asyncio.Semaphore(0)
        self._host, self._port = host, port
        self._connections: set[_Connection] = set()

    async def __aenter__(self) -> ModelServer:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), self._host, self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for connection in list(self._connections):
            await connection.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self._port}"

    def play(self, *turns: Turn) -> None:
        """Add turns to the script."""
        self._script.turns.extend(turns)

    def load(self, script: Script) -> None:
        """Start a new script and clear recorded requests and releases."""
        self._script = script
        self.requests.clear()
        self._releases = asyncio.Semaphore(0)

    def release(self) -> None:
        """Continue one held turn."""
        self._releases.release()

    async def next_request(self) -> RecordedRequest:
        """Wait for and return the next request not yet returned."""
        return await self._arrived.get()

    async def wait_for_release(self) -> None:
        await self._releases.acquire()

    def record(self, request: RecordedRequest) -> Turn:
        """Record the request and choose its turn. A request for a title is refused: no test has it in its script."""
        if TITLES in json.dumps(request.body):
            return Turn(failure=Failure(http_status=400, status="INVALID_ARGUMENT", message="No title."))
        self.requests.append(request)
        self._arrived.put_nowait(request)
        chosen = self.rule(request)
        if chosen is not None:
            return chosen
        for rule in self._script.rules:
            if re.search(rule.when, request.last_content):
                return rule.turn
        if self._script.turns:
            return self._script.turns.pop(0)
        message = "The model server's script has no turn for this request."
        return Turn(failure=Failure(http_status=400, status="INVALID_ARGUMENT", message=message))

    def control(self, method: str, path: str, body: bytes) -> Json | None:
        """Answer a control request; return None for an unknown endpoint."""
        match method, path:
            case "POST", "/script":
                self.load(Script.model_validate_json(body))
                return {}
            case "POST", "/release":
                self.release()
                return {}
            case "GET", "/v1/models":
                return {"object": "list", "data": [_listed(model) for model in self.served_models]}
            case "GET", "/requests":
                return {"requests": [request.as_json() for request in self.requests]}
        return None

    def add_connection(self, connection: _Connection) -> None:
        self._connections.add(connection)

    def remove_connection(self, connection: _Connection) -> None:
        self._connections.discard(connection)


class _Connection(asyncio.Protocol):
    """Reads one request, answers it and closes the connection."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self._received = b""
        self._answer_task: asyncio.Task[None] | None = None
        self._request: RecordedRequest | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop has its own class
        self._server.add_connection(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator or self._answer_task is not None:
            return
        request_line, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if len(body) < int(headers.get("content-length", 0)):
            return
        method, target, _ = request_line.split(" ")
        self._answer_task = asyncio.create_task(self._answer(method, target, headers, body))

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.remove_connection(self)
        if self._answer_task is not None and not self._answer_task.done():
            self._answer_task.cancel()
            if self._request is not None:
                self._request.disconnected.set()

    async def close(self) -> None:
        if self._answer_task is not None:
            self._answer_task.cancel()
            await asyncio.gather(self._answer_task, return_exceptions=True)
        self._transport.abort()

    async def _answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        path = target.partition("?")[0]
        if method == "POST" and _CACHES_PATH.fullmatch(path):
            self._send_cached(json.loads(body))
            return
        # The body of `/release` is empty.
        texts = texts_to_embed(path, json.loads(body)) if method == "POST" and body else None
        if texts is not None:
            await self._send_embeddings(path, json.loads(body), texts)
            return
        request = _model_request(path, headers, body) if method == "POST" else None
        if request is None:
            answer = self._server.control(method, path, body)
            self._send_json(200 if answer is not None else 404, answer or {})
            return
        self._request = request
        dialect = _DIALECTS.get(path, _GEMINI)
        turn = self._server.record(request)
        if turn.failure is not None:
            self._send_failure(turn.failure, dialect)
        elif request.stream:
            await self._send_stream(turn, dialect)
        else:
            await self._send_whole(turn, dialect)

    def _send_cached(self, body: Json) -> None:
        self._server.cached.append(body)
        if self._server.cache_failure is not None:
            self._send_failure(self._server.cache_failure, _GEMINI)
            return
        name = f"cachedContents/{len(self._server.cached)}"
        self._send_json(200, {"name": name, "expireTime": self._server.cache_expires})

    async def _send_embeddings(self, path: str, body: Json, texts: list[str]) -> None:
        script = self._server.embeddings
        script.batches.append(texts)
        script.bodies.append(body)
        if script.is_held:
            await self._server.wait_for_release()
        failure = script.fails(texts)
        if failure is not None:
            self._send_failure(failure, _DIALECTS["/v1/chat/completions"])
            return
        vectors = [script.vector_of(text) for text in texts]
        self._send_json(200, answer_with(path, vectors, tokens=sum(len(text.split()) for text in texts)))

    async def _send_whole(self, turn: Turn, dialect: Dialect) -> None:
        if turn.hold_before:
            await self._server.wait_for_release()
        if turn.ending == "cut":
            self._transport.abort()
            return
        self._send_json(200, dialect.whole(turn))

    async def _send_stream(self, turn: Turn, dialect: Dialect) -> None:
        self._send_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for index, piece in enumerate(dialect.stream_pieces(turn)):
            if turn.keep_alive:
                self._send_chunk(b": still at work\r\n\r\n")
            if index in turn.hold_before:
                await self._server.wait_for_release()
            for part in _split(piece, turn.split):
                self._send_chunk(part)
                await asyncio.sleep(turn.pause)
        if turn.ending == "error":
            self._send_chunk(dialect.stream_error())
        if turn.ending != "cut":
            self._transport.write(b"0\r\n\r\n")
        self._transport.close()

    def _send_failure(self, failure: Failure, dialect: Dialect) -> None:
        headers = {"retry-after": failure.retry_after} if failure.retry_after else {}
        if failure.html is not None:
            self._send_body(failure.http_status, "text/html", failure.html.encode(), headers)
            return
        self._send_json(failure.http_status, dialect.failure(failure), headers)

    def _send_json(self, status: int, body: Json, headers: dict[str, str] | None = None) -> None:
        self._send_body(status, "application/json", json.dumps(body).encode(), headers or {})

    def _send_body(self, status: int, content_type: str, body: bytes, headers: dict[str, str]) -> None:
        self._send_head(status, {"content-type": content_type, "content-length": str(len(body)), **headers})
        self._transport.write(body)
        self._transport.close()

    def _send_head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, '')}", "connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._transport.write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def _send_chunk(self, data: bytes) -> None:
        self._transport.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def _model_request(path: str, headers: dict[str, str], body: bytes) -> RecordedRequest | None:
    """Return the request to a model; None when the path is no model's."""
    if path in _DIALECTS:
        sent = json.loads(body)
        return RecordedRequest(sent["model"], sent.get("stream", False), headers, sent)
    call = _MODEL_PATH.fullmatch(path)
    if call is None:
        return None
    return RecordedRequest(
        call["model"], call["method"] == "streamGenerateContent", headers, json.loads(body)
    )


def _split(piece: bytes, size: int) -> list[bytes]:
    return [piece[start : start + size] for start in range(0, len(piece), size)] if size else [piece]


def _listed(model: str) -> Json:
    return {"id": model, "object": "model", "created": 0, "owned_by": "tests"}


async def _serve(port: int, script: Script) -> None:
    async with ModelServer(port) as server:
        server.load(script)
        print(f"The model server listens on {server.url}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A local server that answers as models do, from a script.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", help="a file with a Script as JSON")
    arguments = parser.parse_args()
    script = Script()
    if arguments.script:
        with open(arguments.script, encoding="utf-8") as file:
            script = Script.model_validate_json(file.read())
    asyncio.run(_serve(arguments.port, script))


if __name__ == "__main__":
    main()
