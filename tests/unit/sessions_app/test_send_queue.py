"""Contract: a send queue sends frames in order and holds a bounded number of characters."""

from __future__ import annotations

import asyncio

from sessions_app.chat.send_queue import MAX_QUEUED_CHARACTERS, SendQueue

HALF = "x" * (MAX_QUEUED_CHARACTERS // 2 + 1)


class Socket:
    """A socket that accepts frames once `room` is set."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.room = asyncio.Event()
        self.failures = 0

    def send_queue(self) -> SendQueue:
        return SendQueue(self._send, self._fail)

    async def _send(self, frame: str) -> None:
        await self.room.wait()
        if frame == "broken":
            raise ConnectionError
        self.sent.append(frame)

    def _fail(self) -> None:
        self.failures += 1


async def test_the_queue_is_bounded_and_sends_in_order_when_there_is_room() -> None:
    socket = Socket()
    send_queue = socket.send_queue()
    assert send_queue.post("first")
    assert not send_queue.is_half_full
    assert send_queue.post(HALF)
    assert send_queue.is_half_full
    assert send_queue.post(HALF)
    assert not send_queue.post("too much")
    assert not await send_queue.drained(0.01)
    socket.room.set()
    assert await send_queue.drained()
    assert send_queue.post("last")
    assert await send_queue.drained()
    assert socket.sent == ["first", HALF, HALF, "last"]


async def test_a_long_frame_that_is_being_sent_leaves_room_for_frames_but_not_for_senders_that_can_wait() -> (
    None
):
    socket = Socket()
    send_queue = socket.send_queue()
    assert send_queue.post(HALF * 4)
    await asyncio.sleep(0)  # The queue begins to send it.
    assert send_queue.is_half_full
    assert send_queue.post(HALF) and send_queue.post(HALF)
    assert not send_queue.post("too much")
    socket.room.set()
    assert await send_queue.drained()
    assert (len(socket.sent), send_queue.is_half_full) == (3, False)


async def test_a_frame_that_cannot_be_sent_ends_the_queue_and_is_reported() -> None:
    socket = Socket()
    socket.room.set()
    send_queue = socket.send_queue()
    send_queue.post("broken")
    send_queue.post("after")
    await send_queue.drained()
    assert (socket.sent, socket.failures) == ([], 1)


async def test_a_queue_that_was_stopped_or_has_failed_holds_nothing() -> None:
    """A sender that waits while the queue is half full would wait for ever without giving way to others."""
    stopped, failed = Socket(), Socket()
    stopped_queue, failed_queue = stopped.send_queue(), failed.send_queue()
    for send_queue in (stopped_queue, failed_queue):
        assert send_queue.post("broken") and send_queue.post(HALF)
    stopped_queue.stop()
    failed.room.set()
    assert await failed_queue.drained() and failed.failures == 1
    assert not (stopped_queue.is_half_full or failed_queue.is_half_full)
