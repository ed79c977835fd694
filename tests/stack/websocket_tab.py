"""A browser tab without a browser: a websocket client that assembles events and text as the page does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

TIMEOUT_SECONDS = 30.0


class Tab:
    """One tab at one web process.

    Attributes:
        log: Committed events by sequence.
        growing: Text of partial events by event id.
        statuses: Statuses of invocation frames, in order of arrival.
    """

    def __init__(self, session: str, cookies: str, app: str = "help_desk") -> None:
        """Take the id of a session, which the first message creates with the app if it does not exist."""
        self._path = f"/ws/chat/{session}/?new={app}"
        self._cookies = cookies
        self._socket: ClientConnection | None = None
        self.log: dict[int, dict[str, Any]] = {}
        self.growing: dict[str, str] = {}
        self.statuses: list[str] = []

    async def open(self, url: str) -> None:
        """Connect or reconnect to a web process, and request the events after the last known one."""
        address = f"{url.replace('http', 'ws', 1)}{self._path}"
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

    async def read_until(self, condition: Callable[[Tab], object], seconds: float = TIMEOUT_SECONDS) -> None:
        """Read frames until the condition holds; fail after a timeout."""
        assert self._socket is not None
        try:
            async with asyncio.timeout(seconds):
                while not condition(self):
                    self._handle(json.loads(await self._socket.recv()))
        except TimeoutError:
            state = f"log {self.texts}, growing {self.growing_text!r}, statuses {self.statuses}"
            raise AssertionError(f"the condition never held; the tab has: {state}") from None

    @property
    def growing_text(self) -> str:
        """The text of all partial events whose final event has not arrived."""
        return "".join(self.growing.values())

    @property
    def texts(self) -> list[str]:
        """The text of every committed event, in order."""
        bodies = [self.log[seq].get("content", {}) for seq in sorted(self.log)]
        return ["".join(part.get("text", "") for part in body.get("parts", ())) for body in bodies]

    def _handle(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "ready":
                self.growing.clear()
            case "partial":
                text = self.growing.get(frame["event_id"], "")
                assert frame["offset"] <= len(text), f"words were lost: {frame} after {text!r}"
                self.growing[frame["event_id"]] = text[: frame["offset"]] + frame["text"]
            case "event":
                assert frame["seq"] == max(self.log, default=0) + 1, (
                    f"{frame} after {max(self.log, default=0)}"
                )
                self.log[frame["seq"]] = frame["event"]
                self.growing.pop(frame["event"]["id"], None)
            case "invocation":
                self.statuses.append(frame["status"])
