"""Connections of a tab: a websocket, or an event stream with a request for each frame that the tab sends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol
from uuid import UUID

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

Frame = dict[str, Any]

BROKEN = (OSError, TimeoutError, WebSocketException, httpx.HTTPError)
"""Errors of a connection that has ended, or that nobody accepts."""
CSRF_TOKEN = "c" * 32
REQUEST_SECONDS = 10.0
TLS = httpx.create_ssl_context()
"""Unused, but without it each client makes one. That takes 50 ms: a kill breaks so many connections that, with a busy
CPU, all time went into new clients."""


class Connection(Protocol):
    """Frames to and from one process."""

    async def send(self, frame: Frame) -> None: ...

    async def receive(self) -> Frame: ...


class WebSocket:
    """A websocket."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    @classmethod
    @asynccontextmanager
    async def open(
        cls, sites: list[str], session_id: UUID, cookie: str, after: int
    ) -> AsyncIterator[Connection]:
        """Open a websocket to the first site, and ask for the events after a seq."""
        address = f"ws://{sites[0]}/ws/chat/{session_id}/"
        headers = {"Cookie": cookie, "Origin": f"http://{sites[0]}"}
        async with connect(address, additional_headers=headers, compression=None, open_timeout=5) as socket:
            opened = cls(socket)
            await opened.send({"type": "hello", "after": after})
            yield opened

    async def send(self, frame: Frame) -> None:
        await self._socket.send(_encode(frame))

    async def receive(self) -> Frame:
        frame: Frame = json.loads(await self._socket.recv())
        return frame


class StreamedFrames:
    """Frames that a task reads from server-sent events; the error with which the stream ends is raised after them."""

    def __init__(self) -> None:
        self._received: asyncio.Queue[Frame | Exception] = asyncio.Queue()

    @asynccontextmanager
    async def reading(self, response: httpx.Response) -> AsyncIterator[None]:
        """Read the response within the block."""
        task = asyncio.create_task(self._read(response), name="stream of a tab or a program")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def receive(self) -> Frame:
        received = await self._received.get()
        if isinstance(received, Exception):
            raise received
        return received

    def take_line(self, line: str) -> None:
        """Put the frames of a line into the queue."""
        raise NotImplementedError

    async def _read(self, response: httpx.Response) -> None:
        try:
            async for line in response.aiter_lines():
                self.take_line(line)
            self._received.put_nowait(httpx.HTTPError("the stream has ended"))
        except (httpx.HTTPError, AssertionError) as error:
            self._received.put_nowait(error)


class EventStream(StreamedFrames):
    """An event stream; the frames of the tab go to the last of the sites."""

    def __init__(self, client: httpx.AsyncClient, frames: str) -> None:
        super().__init__()
        self._client, self._frames = client, frames

    @classmethod
    @asynccontextmanager
    async def open(
        cls, sites: list[str], session_id: UUID, cookie: str, after: int
    ) -> AsyncIterator[Connection]:
        """Read the stream of the first site, which sends the events after a seq."""
        headers = {"Cookie": f"{cookie}; csrftoken={CSRF_TOKEN}", "X-CSRFToken": CSRF_TOKEN}
        address = f"http://{sites[0]}/sse/chat/{session_id}/"
        endless = httpx.Timeout(REQUEST_SECONDS, read=None)
        async with (
            httpx.AsyncClient(headers=headers, timeout=REQUEST_SECONDS, verify=TLS) as client,
            client.stream("GET", address, params={"after": after}, timeout=endless) as response,
        ):
            opened = cls(client, f"http://{sites[-1]}/chat/{session_id}/frames/")
            async with opened.reading(response):
                yield opened

    async def send(self, frame: Frame) -> None:
        response = await self._client.post(self._frames, content=_encode(frame))
        if response.headers.get("Content-Type") == "application/json":
            self._received.put_nowait({**response.json(), "is_reply": True})
        elif response.status_code != httpx.codes.NO_CONTENT:
            raise httpx.HTTPError(f"a frame was answered with {response.status_code}")

    def take_line(self, line: str) -> None:
        if line.startswith("data: {"):
            self._received.put_nowait(json.loads(line.removeprefix("data: ")))


def _encode(frame: Frame) -> str:
    return json.dumps({"v": 1, **frame})
