"""Contract: frames leave in order, and no more of them wait than a socket may keep."""

from __future__ import annotations

import asyncio

from sessions_app.chat.send_queue import LIMIT, Outgoing

HALF = "x" * (LIMIT // 2 + 1)


class Socket:
    """A socket that takes frames while it has room."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.room = asyncio.Event()
        self.failures = 0

    def outgoing(self) -> Outgoing:
        return Outgoing(self._send, self._fail)

    async def _send(self, frame: str) -> None:
        await self.room.wait()
        if frame == "broken":
            raise ConnectionError
        self.sent.append(frame)

    def _fail(self) -> None:
        self.failures += 1


async def test_what_waits_is_bounded_and_leaves_in_order_when_there_is_room() -> None:
    socket = Socket()
    outgoing = socket.outgoing()
    assert outgoing.post("first")
    assert not outgoing.is_half_full
    assert outgoing.post(HALF)
    assert outgoing.is_half_full
    assert outgoing.post(HALF)
    assert not outgoing.post("too much")
    assert not await outgoing.drained(0.01)
    socket.room.set()
    assert await outgoing.drained()
    assert outgoing.post("last")
    assert await outgoing.drained()
    assert socket.sent == ["first", HALF, HALF, "last"]


async def test_a_frame_that_cannot_be_sent_ends_it_and_is_told() -> None:
    socket = Socket()
    socket.room.set()
    outgoing = socket.outgoing()
    outgoing.post("broken")
    outgoing.post("after")
    await outgoing.drained()
    assert (socket.sent, socket.failures) == ([], 1)
