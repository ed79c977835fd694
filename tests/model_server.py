"""A local server that answers as Gemini's HTTP API does, from a script (issue 2, "The model").

In an asyncio test:

    async with ModelServer() as server:
        server.play(Turn(text=["Hel", "lo"]))
        model = Gemini(model="gemini-test", api_key="test", base_url=server.url)

For tests in other processes, `python -m tests.model_server --port 8099` serves the same and is controlled by
HTTP: `POST /script` with a `Script` as JSON, `POST /release` lets one held turn go on, `GET /requests` lists
what was asked. Every connection serves one request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Any, Literal, cast

from pydantic import BaseModel

Json = dict[str, Any]

_MODEL_PATH = re.compile(
    r"/v1(?:beta)?/models/(?P<model>[^:]+):(?P<method>generateContent|streamGenerateContent)"
)


_CACHES_PATH = re.compile(r"/v1(?:beta)?/cachedContents")


class Call(BaseModel):
    name: str
    args: Json = {}
    id: str | None = None
    thought_signature: str | None = None


class Failure(BaseModel):
    """An HTTP error in place of an answer, in the API's form or, for a proxy's page, as `html`."""

    http_status: int
    status: str | None = None
    message: str = "The script says so."
    retry_delay: str | None = None
    retry_after: str | None = None
    html: str | None = None


class Turn(BaseModel):
    """One answer: thoughts, texts and further parts (as the API writes them), a chunk each, then all calls.

    `hold_before` names the chunks (0 is the first) before which the server waits for a release, `pause` the
    seconds after each; `ending` says what follows the last one: the proper end, a broken connection, or an
    error that arrives as a chunk.
    """

    thoughts: list[str] = []
    text: list[str] = []
    parts: list[Json] = []
    calls: list[Call] = []
    finish_reason: str | None = "STOP"
    block_reason: str | None = None
    candidate: Json = {}
    usage: Json = {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}
    hold_before: list[int] = []
    pause: float = 0
    ending: Literal["proper", "cut", "error"] = "proper"
    failure: Failure | None = None


class Rule(BaseModel):
    """The turn for every request whose last content, as JSON, matches the regular expression."""

    when: str
    turn: Turn


class Script(BaseModel):
    """Rules are asked first, in order; then the turns are played, each once."""

    rules: list[Rule] = []
    turns: list[Turn] = []


@dataclass
class RecordedRequest:
    """One request to a model. `disconnected` is set when the client leaves before the answer is complete."""

    model: str
    stream: bool
    headers: dict[str, str]
    body: Json
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def last_content(self) -> str:
        return json.dumps(self.body["contents"][-1])

    def as_json(self) -> Json:
        return {
            "model": self.model,
            "stream": self.stream,
            "body": self.body,
            "disconnected": self.disconnected.is_set(),
        }


class ModelServer:
    """The server, as an asynchronous context manager. `rule` may choose a turn before the script does.

    `cached` has what it was asked to cache; `cache_failure` and `cache_expires` say what it answers to that.
    """

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        self.requests: list[RecordedRequest] = []
        self.cached: list[Json] = []
        self.cache_failure: Failure | None = None
        self.cache_expires = "2999-01-01T00:00:00Z"
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
        """Begin a new script, and forget what was asked and released."""
        self._script = script
        self.requests.clear()
        self._releases = asyncio.Semaphore(0)

    def release(self) -> None:
        """Let one held turn go on."""
        self._releases.release()

    async def next_request(self) -> RecordedRequest:
        """The next request that has not been taken yet; waits for it."""
        return await self._arrived.get()

    async def wait_for_release(self) -> None:
        await self._releases.acquire()

    def record(self, request: RecordedRequest) -> Turn:
        """Note the request and choose its turn."""
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
        """Answer a request to the server itself; None when there is no such endpoint."""
        match method, path:
            case "POST", "/script":
                self.load(Script.model_validate_json(body))
                return {}
            case "POST", "/release":
                self.release()
                return {}
            case "GET", "/requests":
                return {"requests": [request.as_json() for request in self.requests]}
        return None

    def opened(self, connection: _Connection) -> None:
        self._connections.add(connection)

    def closed(self, connection: _Connection) -> None:
        self._connections.discard(connection)


class _Connection(asyncio.Protocol):
    """Reads one request, answers it, closes."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self._received = b""
        self._answering: asyncio.Task[None] | None = None
        self._request: RecordedRequest | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop has classes of its own
        self._server.opened(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator or self._answering is not None:
            return
        request_line, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if len(body) < int(headers.get("content-length", 0)):
            return
        method, target, _ = request_line.split(" ")
        self._answering = asyncio.create_task(self._answer(method, target, headers, body))

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.closed(self)
        if self._answering is not None and not self._answering.done():
            self._answering.cancel()
            if self._request is not None:
                self._request.disconnected.set()

    async def close(self) -> None:
        if self._answering is not None:
            self._answering.cancel()
            await asyncio.gather(self._answering, return_exceptions=True)
        self._transport.abort()

    async def _answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        path = target.partition("?")[0]
        if method == "POST" and _CACHES_PATH.fullmatch(path):
            self._send_cached(json.loads(body))
            return
        call = _MODEL_PATH.fullmatch(path)
        if call is None or method != "POST":
            answer = self._server.control(method, path, body)
            self._send_json(200 if answer is not None else 404, answer or {})
            return
        stream = call["method"] == "streamGenerateContent"
        self._request = RecordedRequest(call["model"], stream, headers, json.loads(body))
        turn = self._server.record(self._request)
        if turn.failure is not None:
            self._send_failure(turn.failure)
        elif stream:
            await self._send_stream(turn)
        else:
            await self._send_whole(turn)

    def _send_cached(self, body: Json) -> None:
        self._server.cached.append(body)
        if self._server.cache_failure is not None:
            self._send_failure(self._server.cache_failure)
            return
        name = f"cachedContents/{len(self._server.cached)}"
        self._send_json(200, {"name": name, "expireTime": self._server.cache_expires})

    async def _send_whole(self, turn: Turn) -> None:
        if turn.hold_before:
            await self._server.wait_for_release()
        if turn.ending == "cut":
            self._transport.abort()
            return
        self._send_json(200, _whole(turn))

    async def _send_stream(self, turn: Turn) -> None:
        self._send_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for index, chunk in enumerate(_chunks(turn)):
            if index in turn.hold_before:
                await self._server.wait_for_release()
            self._send_chunk(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n")
            await asyncio.sleep(turn.pause)
        if turn.ending == "proper":
            self._transport.write(b"0\r\n\r\n")
        if turn.ending == "error":
            error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
            self._send_chunk(b"data: " + json.dumps(error).encode() + b"\r\n\r\n")
            self._transport.write(b"0\r\n\r\n")
        self._transport.close()

    def _send_failure(self, failure: Failure) -> None:
        headers = {"retry-after": failure.retry_after} if failure.retry_after else {}
        if failure.html is not None:
            self._send_body(failure.http_status, "text/html", failure.html.encode(), headers)
            return
        retry_info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": failure.retry_delay}
        error = {
            "code": failure.http_status,
            "message": failure.message,
            "status": failure.status,
            "details": [retry_info] if failure.retry_delay else [],
        }
        self._send_json(failure.http_status, {"error": error}, headers)

    def _send_json(self, status: int, body: Json, headers: dict[str, str] | None = None) -> None:
        self._send_body(status, "application/json", json.dumps(body).encode(), headers or {})

    def _send_body(self, status: int, content_type: str, body: bytes, headers: dict[str, str]) -> None:
        self._send_head(status, {"content-type": content_type, "content-length": str(len(body)), **headers})
        self._transport.write(body)
        self._transport.close()

    def _send_head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._transport.write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def _send_chunk(self, data: bytes) -> None:
        self._transport.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def _part_groups(turn: Turn) -> list[list[Json]]:
    """The parts of each chunk of the answer."""
    groups: list[list[Json]] = [[{"text": text, "thought": True}] for text in turn.thoughts]
    groups += [[{"text": text}] for text in turn.text]
    groups += [[part] for part in turn.parts]
    if turn.calls:
        groups.append([_call_part(call) for call in turn.calls])
    return groups


def _call_part(call: Call) -> Json:
    part: Json = {"functionCall": call.model_dump(include={"name", "args", "id"}, exclude_none=True)}
    if call.thought_signature is not None:
        part["thoughtSignature"] = call.thought_signature
    return part


def _chunks(turn: Turn) -> list[Json]:
    """The chunks of a streamed answer; the last one says why it ended."""
    if turn.block_reason is not None:
        return [_blocked(turn)]
    chunks = [_response(turn, parts, {}) for parts in _part_groups(turn)]
    if turn.ending == "proper":
        if not chunks:
            chunks.append(_response(turn, [], {}))
        chunks[-1] = _response(turn, chunks[-1]["candidates"][0]["content"].get("parts", []), _ending(turn))
    return chunks


def _whole(turn: Turn) -> Json:
    """The answer in one piece."""
    if turn.block_reason is not None:
        return _blocked(turn)
    return _response(turn, [part for parts in _part_groups(turn) for part in parts], _ending(turn))


def _ending(turn: Turn) -> Json:
    ending = {"finishReason": turn.finish_reason} if turn.finish_reason is not None else {}
    return {**ending, **turn.candidate}


def _response(turn: Turn, parts: list[Json], candidate: Json) -> Json:
    content: Json = {"role": "model", **({"parts": parts} if parts else {})}
    return {
        "candidates": [{"content": content, "index": 0, **candidate}],
        "usageMetadata": turn.usage,
        "modelVersion": "gemini-test-001",
    }


def _blocked(turn: Turn) -> Json:
    return {"promptFeedback": {"blockReason": turn.block_reason}, "usageMetadata": turn.usage}


async def _serve(port: int, script: Script) -> None:
    async with ModelServer(port) as server:
        server.load(script)
        print(f"The model server listens on {server.url}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A local server that answers as Gemini does, from a script.")
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
