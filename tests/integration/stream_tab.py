"""A browser's end of an event stream, with its frames sent by HTTP, on the site's whole application."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from asgiref.testing import ApplicationCommunicator
from django.http import HttpResponse
from django.test import AsyncClient, Client

from adk_site.asgi import application

ADDRESS = "198.51.100.7"
CLOSE = "event: close\ndata: "


class StreamTab:
    """A tab of a browser; without a session, of the list. `status` is that of the response, once it is open."""

    def __init__(
        self,
        browser: Client | AsyncClient,
        session_id: UUID | None,
        query: str = "",
        *,
        origin: str = "",
        method: str = "GET",
        root_path: str = "",
    ) -> None:
        cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
        headers = [("host", "localhost"), ("cookie", cookie), ("origin", origin)]
        self.browser, self.session_id, self.query = browser, session_id, query
        scope = {
            "type": "http",
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": f"{root_path}/sse/chat/" + (f"{session_id}/" if session_id else ""),
            "root_path": root_path,
            "query_string": query.encode(),
            "client": [ADDRESS, 4000],
            "headers": [(name.encode(), value.encode()) for name, value in headers if value],
        }
        self.stream: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]

    async def open(self) -> None:
        """Request the stream, and read its status and headers."""
        await self.stream.send_input({"type": "http.request"})
        start = await self.stream.receive_output(timeout=10)
        self.status, self.headers = start["status"], dict(start["headers"])

    async def text(self) -> str:
        """Return the next piece of the stream that is not empty."""
        piece = b""
        while not piece:
            piece = (await self.stream.receive_output(timeout=10))["body"]
        return piece.decode()

    async def receive(self, wanted: str = "", **fields: Any) -> dict[str, Any]:
        """Return the next frame, or the next one of a type with these fields."""
        while True:
            text = await self.text()
            assert text.startswith("data: ") and text.endswith("\n\n") and text.count("\n") == 2
            frame: dict[str, Any] = json.loads(text.removeprefix("data: "))
            if not wanted or (frame["type"] == wanted and fields.items() <= frame.items()):
                return frame

    async def close_code(self) -> int:
        """Return the code of the `close` event; the frames before it are skipped."""
        text = ""
        while not text.startswith(CLOSE):
            text = await self.text()
        await self.stream.wait(timeout=10)
        return int(text.removeprefix(CLOSE))

    async def leave(self) -> None:
        """Close the tab, and wait until the site has noticed."""
        await self.stream.send_input({"type": "http.disconnect"})
        await self.stream.wait(timeout=10)

    async def post(self, **frame: Any) -> HttpResponse:
        """Send a frame."""
        return await self.post_body(json.dumps({"v": 1, **frame}))

    async def post_body(self, body: str | bytes, **headers: str) -> HttpResponse:
        """Send the body of a request for a frame."""
        address = f"/chat/{self.session_id}/frames/?{self.query}"
        sent = self.browser.post(address, body, content_type="text/plain", headers=headers)
        response: HttpResponse = await sent  # type: ignore[misc]  # of an AsyncClient
        return response


@asynccontextmanager
async def open_stream(
    browser: AsyncClient, session_id: UUID | None, query: str = ""
) -> AsyncIterator[StreamTab]:
    """Open a tab; yield it before its first frame."""
    tab = StreamTab(browser, session_id, query)
    await tab.open()
    try:
        yield tab
    finally:
        await tab.leave()
