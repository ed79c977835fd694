"""Websocket client that behaves like the page: it resends unacknowledged frames and resumes from its last sequence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol
from uuid import UUID

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, WebSocketException

from tests.chaos.page import Page

SILENCE_SECONDS = 6.0
RETRY_SECONDS = 0.5

Frame = dict[str, Any]


class Act(Protocol):
    """Something that a person does, repeated until it is done."""

    def is_over(self, page: Page) -> bool:
        """True when the act is done."""

    def frames(self, page: Page) -> Iterable[Frame]:
        """Return the frames to send in the page's current state.

        The browser sends each frame once after each `ready` frame and after each error frame.
        """

    def may_be_refused(self, code: str) -> bool:
        """True when an error frame with this code is no problem."""


@dataclass
class Browser:
    """One tab of one person, which reconnects without limit."""

    session_id: UUID
    cookie: str
    ports: list[int]
    random: Random
    page: Page = field(default_factory=Page)
    reconnects: int = 0

    async def do(self, act: Act) -> None:
        """Perform the act, with as many connections as it takes."""
        while not act.is_over(self.page):
            port = self.random.choice(self.ports)
            address = f"ws://127.0.0.1:{port}/ws/chat/{self.session_id}/"
            headers = {"Cookie": self.cookie, "Origin": f"http://127.0.0.1:{port}"}
            try:
                async with connect(
                    address, additional_headers=headers, compression=None, open_timeout=5
                ) as socket:
                    await socket.send(_encode({"type": "hello", "after": self.page.seq}))
                    await self._listen(socket, act)
            except (OSError, TimeoutError, WebSocketException, InvalidHandshake):
                self.reconnects += 1
                await asyncio.sleep(0.2)

    async def _listen(self, socket: ClientConnection, act: Act) -> None:
        is_ready, sent = False, list[Frame]()
        while not act.is_over(self.page):
            frame = await self._receive(socket)
            self.page.handle(frame)
            if frame["type"] == "ready":
                is_ready, sent = True, []
            elif frame["type"] == "error":
                if not act.may_be_refused(frame["code"]):
                    self.page.problems.append(f"error frame: {frame['message']}")
                await asyncio.sleep(RETRY_SECONDS)
                sent = []
            for outgoing in act.frames(self.page) if is_ready else ():
                if outgoing not in sent:
                    sent.append(outgoing)
                    await socket.send(_encode(outgoing))

    async def _receive(self, socket: ClientConnection) -> Frame:
        """Return the next frame. After a silence the server must answer a ping, else this raises TimeoutError."""
        try:
            text = await asyncio.wait_for(socket.recv(), SILENCE_SECONDS)
        except TimeoutError:
            await socket.send(_encode({"type": "ping"}))
            text = await asyncio.wait_for(socket.recv(), SILENCE_SECONDS)
        frame: Frame = json.loads(text)
        return frame


def _encode(frame: Frame) -> str:
    return json.dumps({"v": 1, **frame})
