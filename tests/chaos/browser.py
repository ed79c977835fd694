"""Client that behaves like the page: it resends unacknowledged frames and resumes from its last sequence."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol
from uuid import UUID

from tests.chaos.api_client import ApiClient
from tests.chaos.connections import BROKEN, Connection, EventStream, Frame, WebSocket
from tests.chaos.page import Page

SILENCE_SECONDS = 6.0
RETRY_SECONDS = 0.5


class Act(Protocol):
    """Something that a person does, repeated until it is done."""

    def is_over(self, page: Page) -> bool:
        """True if the act is done."""

    def frames(self, page: Page) -> Iterable[Frame]:
        """Return the frames to send in the page's current state.

        The browser sends each frame once after each `ready` frame and after each error frame.
        """

    def may_be_refused(self, code: str) -> bool:
        """True if an error frame with this code is no problem."""


@dataclass
class Browser:
    """One tab of one person, or a program with a key, which reconnects without limit.

    Attributes:
        sites: host and port of each web process.
        key: API key of a program; empty for a tab.
    """

    session_id: UUID
    cookie: str
    sites: list[str]
    random: Random
    key: str = ""
    page: Page = field(default_factory=Page)
    reconnects: Counter[str] = field(default_factory=Counter)

    async def do(self, act: Act) -> None:
        """Perform the act, with as many connections as it takes."""
        while not act.is_over(self.page):
            kind = ApiClient if self.key else self.random.choice((WebSocket, EventStream))
            sites = self.random.sample(self.sites, len(self.sites))
            try:
                async with kind.open(
                    sites, self.session_id, self.key or self.cookie, self.page.seq
                ) as connection:
                    await self._listen(connection, act)
            except BROKEN:
                self.reconnects[kind.__name__] += 1
                await asyncio.sleep(0.2)

    async def _listen(self, connection: Connection, act: Act) -> None:
        is_ready, sent = False, list[Frame]()
        while not act.is_over(self.page):
            frame = await self._receive(connection)
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
                    await connection.send(outgoing)

    async def _receive(self, connection: Connection) -> Frame:
        """Return the next frame. After a silence the server must answer a ping, else this raises TimeoutError."""
        try:
            return await asyncio.wait_for(connection.receive(), SILENCE_SECONDS)
        except TimeoutError:
            await connection.send({"type": "ping"})
            return await asyncio.wait_for(connection.receive(), SILENCE_SECONDS)
