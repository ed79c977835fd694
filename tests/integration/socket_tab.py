"""The browser's end of a chat's websocket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from sessions_app.models import Session
from sessions_app.routing import websocket_application, websocket_urlpatterns

OWN = "http://localhost:8000"
"""Origin of the site's own pages."""
SECONDS = 20.0
"""Shortest time limit of a wait: the second of Channels is too short for a busy machine."""


class Websocket(WebsocketCommunicator):  # type: ignore[misc]  # Channels has no type hints
    """A websocket of a test, which waits for the site for at least `SECONDS`."""

    async def receive_output(self, timeout: float = SECONDS) -> dict[str, Any]:  # noqa: ASYNC109
        message: dict[str, Any] = await super().receive_output(max(timeout, SECONDS))
        return message

    async def wait(self, timeout: float = SECONDS) -> None:  # noqa: ASYNC109
        await super().wait(max(timeout, SECONDS))


class Tab:
    """The browser's end of a socket."""

    def __init__(self, user: Any, session: Session) -> None:
        self.socket = Websocket(URLRouter(websocket_urlpatterns), f"/ws/chat/{session.pk}/")
        self.socket.scope["user"] = user

    async def open(self, after: int = 0) -> dict[str, Any]:
        """Connect and send `hello`; return the `ready` frame."""
        connected, _ = await self.socket.connect()
        assert connected
        await self.send(type="hello", after=after)
        return await self.receive()

    async def send(self, **frame: Any) -> None:
        await self.socket.send_to(text_data=json.dumps({"v": 1, **frame}))

    async def receive(self) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(await self.socket.receive_from(timeout=5))
        return frame

    async def until_done(self) -> list[dict[str, Any]]:
        """Return the frames up to the end of an invocation."""
        frames: list[dict[str, Any]] = []
        while not frames or frames[-1].get("status") not in ("completed", "failed", "cancelled"):
            frames.append(await self.receive())
        return frames

    async def close_code(self) -> int:
        message = await self.socket.receive_output(timeout=5)
        assert message["type"] == "websocket.close"
        return int(message["code"])

    async def leave(self) -> None:
        """Disconnect, unless a timeout has ended the socket."""
        if not self.socket.future.cancelled():
            await self.socket.disconnect()


class SiteTab(Tab):
    """A tab on the ASGI application of the site: origin check and authentication included."""

    def __init__(
        self, browser: Client | AsyncClient, session: Session, origin: str = OWN, host: str = ""
    ) -> None:
        cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
        host = host or OWN.removeprefix("http://")
        headers = [("cookie", cookie), ("host", host), ("origin", origin)]
        sent = [(name.encode(), value.encode()) for name, value in headers if value]
        self.socket = Websocket(websocket_application, f"/ws/chat/{session.pk}/", headers=sent)


@asynccontextmanager
async def open_tab(
    person: User, session: Session, after: int = 0
) -> AsyncIterator[tuple[Tab, dict[str, Any]]]:
    """Open a tab; yield it with its `ready` frame."""
    tab = Tab(person, session)
    try:
        yield tab, await tab.open(after)
    finally:
        await tab.leave()
