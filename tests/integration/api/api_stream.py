"""A program's end of a stream of the API, on the site's whole application."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from asgiref.testing import ApplicationCommunicator
from django.test import AsyncClient, Client

from adk_site.asgi import application

ADDRESS = "198.51.100.9"


@dataclass(frozen=True)
class Frame:
    """A server-sent event; `data` is its JSON."""

    name: str
    id: int | None
    data: Any


class ApiStream:
    """A request whose response is a stream, or problem details. `status` is known once it is open."""

    def __init__(
        self,
        path: str,
        headers: Mapping[str, str],
        *,
        method: str = "GET",
        body: Any = None,
        root_path: str = "",
    ) -> None:
        path, _, query = path.partition("?")
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        self._body = content
        scope = {
            "type": "http",
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": root_path + path,
            "root_path": root_path,
            "query_string": query.encode(),
            "client": [ADDRESS, 4000],
            "headers": [(b"host", b"localhost")]
            + [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
        self._exchange: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]
        self._unread: list[Frame] = []
        self.pieces: list[str] = []

    async def open(self) -> None:
        await self._exchange.send_input({"type": "http.request", "body": self._body})
        start = await self._exchange.receive_output(timeout=20)
        self.status, self.headers = start["status"], dict(start["headers"])

    async def rest(self) -> str:
        """Return the rest of the response's body."""
        text, more = "", True
        while more:
            message = await self._exchange.receive_output(timeout=20)
            text, more = text + message.get("body", b"").decode(), message.get("more_body", False)
        await self._exchange.wait(timeout=20)
        return text

    async def piece(self) -> str:
        """Return the next piece that is not empty, "" at the end of the response."""
        while True:
            message = await self._exchange.receive_output(timeout=20)
            if text := message.get("body", b"").decode():
                return str(text)
            if not message.get("more_body"):
                return ""

    async def receive(self, name: str = "", **fields: Any) -> Frame:
        """Return the next frame, or the next one of a name with these fields."""
        while True:
            text = await self.piece()
            assert text.endswith("\n\n"), f"half a frame: {text!r}"
            if text.startswith(":"):
                continue
            frame = parse(text)
            if not name or (frame.name == name and fields.items() <= frame.data.items()):
                return frame

    async def all_frames(self) -> list[Frame]:
        """Return the frames up to the end of the stream."""
        return self.parsed(await self.rest())

    @staticmethod
    def parsed(text: str) -> list[Frame]:
        """Return the frames of a text."""
        return [parse(each) for each in text.split("\n\n") if each and not each.startswith(":")]

    async def leave_during_body(self) -> None:
        """Send half of a body and break the connection; the site answers nothing."""
        await self._exchange.send_input({"type": "http.request", "body": self._body, "more_body": True})
        await self.leave()
        assert await self._exchange.receive_nothing()

    async def leave(self) -> None:
        """Break the connection, and wait until the site has noticed."""
        await self._exchange.send_input({"type": "http.disconnect"})
        await self._exchange.wait(timeout=20)


def parse(text: str) -> Frame:
    lines = dict(line.split(": ", 1) for line in text.strip().split("\n"))
    return Frame(
        lines.get("event", ""), int(lines["id"]) if "id" in lines else None, json.loads(lines["data"])
    )


def cookies(browser: Client | AsyncClient) -> dict[str, str]:
    """Return the header with the cookies of a browser."""
    return {"cookie": "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())}


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@asynccontextmanager
async def open_stream(path: str, headers: Mapping[str, str], **request: Any) -> AsyncIterator[ApiStream]:
    """Open a stream; leave it at the end of the block."""
    stream = ApiStream(path, headers, **request)
    await stream.open()
    try:
        yield stream
    finally:
        await stream.leave()
