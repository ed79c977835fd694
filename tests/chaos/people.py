"""People who talk through it all: each has a session, sends messages one after the other, and never gives up."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, WebSocketException

VERBS = ("say", "say", "note", "work")
PATIENCE = 6.0
ENDED = ("completed", "failed", "cancelled", "waiting")


@dataclass
class Person:
    """One browser, as the page behaves: resends what is not acknowledged, reconnects with the last seq it has."""

    number: int
    session_id: UUID
    cookie: str
    ports: list[int]
    chance: random.Random
    log: dict[int, dict[str, Any]] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    reconnects: int = 0

    async def talk(self, messages: int) -> None:
        """Send the messages, each until it has been answered or has ended with a reason."""
        for number in range(messages):
            client_id = f"p{self.number}-m{number}"
            verb = self.chance.choice(VERBS)
            while client_id not in self.ended:
                await self._try(client_id, f"{verb} {client_id}")

    async def read_to(self, seq: int) -> None:
        """Connect once more and read what is missing, up to `seq`."""
        while max(self.log, default=0) < seq:
            await self._try(None, "", seq)

    async def _try(self, client_id: str | None, text: str, seq: int = 0) -> None:
        port = self.chance.choice(self.ports)
        address = f"ws://127.0.0.1:{port}/ws/chat/{self.session_id}/"
        headers = {"Cookie": self.cookie, "Origin": f"http://127.0.0.1:{port}"}
        try:
            async with connect(
                address, additional_headers=headers, compression=None, open_timeout=5
            ) as socket:
                await socket.send(self._frame("hello", after=max(self.log, default=0)))
                await self._listen(socket, client_id, text, seq)
        except (OSError, TimeoutError, WebSocketException, InvalidHandshake):
            self.reconnects += 1
            await asyncio.sleep(0.2)

    async def _listen(self, socket: Any, client_id: str | None, text: str, seq: int) -> None:
        """Read until the message has ended, or the log is there up to `seq`. Each greeting has it sent again."""
        while client_id not in self.ended if client_id else max(self.log, default=0) < seq:
            frame = await self._receive(socket)
            if frame["type"] == "event":
                self._take(frame["seq"], frame["event"])
            elif frame["type"] == "invocation" and frame["status"] in ENDED:
                self.ended[frame.get("client_id", "")] = frame["status"]
            elif frame["type"] == "error":
                self.problems.append(f"error frame: {frame['message']}")
            elif frame["type"] == "ready" and client_id:
                await socket.send(self._frame("message", id=client_id, text=text))

    async def _receive(self, socket: Any) -> Any:
        """The next frame; after some silence the socket must answer a ping."""
        try:
            return json.loads(await asyncio.wait_for(socket.recv(), PATIENCE))
        except TimeoutError:
            await socket.send(self._frame("ping"))
            return json.loads(await asyncio.wait_for(socket.recv(), PATIENCE))

    def _take(self, seq: int, event: dict[str, Any]) -> None:
        if seq in self.log:
            if self.log[seq]["id"] != event["id"]:
                self.problems.append(f"two events have seq {seq}")
        elif seq != max(self.log, default=0) + 1:
            self.problems.append(f"event {seq} came after {max(self.log, default=0)}")
        self.log[seq] = event

    def _frame(self, kind: str, **fields: Any) -> str:
        return json.dumps({"v": 1, "type": kind, **fields})
