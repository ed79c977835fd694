"""A browser's tab at one web process: what it knows of a session, put together as the page does it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

PATIENCE_SECONDS = 30.0


class Tab:
    """Knows the events by `seq` and the text that grows by the event that it will be."""

    def __init__(self, session: str, cookies: str) -> None:
        self._session, self._cookies = session, cookies
        self._socket: ClientConnection | None = None
        self.log: dict[int, dict[str, Any]] = {}
        self.growing: dict[str, str] = {}
        self.statuses: list[str] = []

    async def open(self, url: str) -> None:
        """Connect, or connect again elsewhere, and ask for what came after the last event that it has."""
        address = f"{url.replace('http', 'ws', 1)}/ws/chat/{self._session}/"
        await self.close()
        headers = {"Cookie": self._cookies, "Origin": url}
        self._socket = await connect(address, additional_headers=headers)
        await self.send(type="hello", after=max(self.log, default=0))

    async def send(self, **frame: Any) -> None:
        assert self._socket is not None
        await self._socket.send(json.dumps({"v": 1, **frame}))

    async def close(self) -> None:
        if self._socket is not None:
            await self._socket.close()

    async def until(self, holds: Callable[[Tab], object]) -> None:
        """Read until it holds."""
        assert self._socket is not None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not holds(self):
                    self._take(json.loads(await self._socket.recv()))
        except TimeoutError:
            known = f"said {self.said}, growing {self.text!r}, statuses {self.statuses}"
            raise AssertionError(f"That did not come; the tab knows: {known}") from None

    @property
    def text(self) -> str:
        """All that grows at the moment."""
        return "".join(self.growing.values())

    @property
    def said(self) -> list[str]:
        """Every event's text in order; texts of one part only."""
        bodies = [self.log[seq].get("content", {}) for seq in sorted(self.log)]
        return ["".join(part.get("text", "") for part in body.get("parts", ())) for body in bodies]

    def _take(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "ready":
                self.growing.clear()
            case "partial":
                known = self.growing.get(frame["event_id"], "")
                assert frame["offset"] <= len(known), f"words were lost: {frame} after {known!r}"
                self.growing[frame["event_id"]] = known[: frame["offset"]] + frame["text"]
            case "event":
                assert frame["seq"] == max(self.log, default=0) + 1, (
                    f"{frame} after {max(self.log, default=0)}"
                )
                self.log[frame["seq"]] = frame["event"]
                self.growing.pop(frame["event"]["id"], None)
            case "invocation":
                self.statuses.append(frame["status"])
