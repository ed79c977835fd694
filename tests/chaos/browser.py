"""A browser, as the page behaves: it resends what is not acknowledged, and reconnects with the last seq it has."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, WebSocketException

from tests.chaos.page import Page

PATIENCE = 6.0
PAUSE = 0.5

Frame = dict[str, Any]


class Act(Protocol):
    """Something that the person does, until it is done."""

    def is_over(self, page: Page) -> bool:
        """Whether it is done."""

    def frames(self, page: Page) -> Iterable[Frame]:
        """What is to be sent, by what is known now; each is sent once after each greeting and each refusal."""

    def may_be_refused(self, code: str) -> bool:
        """The server did not do what a frame asked for. Whether that may happen."""


@dataclass
class Browser:
    """A tab of one person. It never gives up."""

    session_id: UUID
    cookie: str
    ports: list[int]
    chance: random.Random
    page: Page = field(default_factory=Page)
    reconnects: int = 0

    async def do(self, act: Act) -> None:
        """Connect, and connect again, until it is done."""
        while not act.is_over(self.page):
            port = self.chance.choice(self.ports)
            address = f"ws://127.0.0.1:{port}/ws/chat/{self.session_id}/"
            headers = {"Cookie": self.cookie, "Origin": f"http://127.0.0.1:{port}"}
            try:
                async with connect(
                    address, additional_headers=headers, compression=None, open_timeout=5
                ) as socket:
                    await socket.send(_text({"type": "hello", "after": self.page.seq}))
                    await self._listen(socket, act)
            except (OSError, TimeoutError, WebSocketException, InvalidHandshake):
                self.reconnects += 1
                await asyncio.sleep(0.2)

    async def _listen(self, socket: ClientConnection, act: Act) -> None:
        is_greeted, sent = False, list[Frame]()
        while not act.is_over(self.page):
            frame = await self._receive(socket)
            self.page.take(frame)
            if frame["type"] == "ready":
                is_greeted, sent = True, []
            elif frame["type"] == "error":
                if not act.may_be_refused(frame["code"]):
                    self.page.problems.append(f"error frame: {frame['message']}")
                await asyncio.sleep(PAUSE)
                sent = []
            for wanted in act.frames(self.page) if is_greeted else ():
                if wanted not in sent:
                    sent.append(wanted)
                    await socket.send(_text(wanted))

    async def _receive(self, socket: ClientConnection) -> Frame:
        """The next frame; after some silence the socket must answer a ping."""
        try:
            text = await asyncio.wait_for(socket.recv(), PATIENCE)
        except TimeoutError:
            await socket.send(_text({"type": "ping"}))
            text = await asyncio.wait_for(socket.recv(), PATIENCE)
        frame: Frame = json.loads(text)
        return frame


def _text(frame: Frame) -> str:
    return json.dumps({"v": 1, **frame})
