"""SendQueue: a bounded queue of the frames for one socket."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)
MAX_QUEUED_CHARACTERS = 256 * 1024
"""Limit on the characters that wait behind the frame being sent. The last accepted frame may exceed the limit."""


class SendQueue:
    """Sends frames in order. The queue fills only on servers whose `send` waits for a slow reader, as ASGI allows.

    Args:
        send: sends a frame, and returns when the socket has room for the next one.
        on_failure: called when a frame could not be sent. The queued frames are dropped.
    """

    def __init__(self, send: Callable[[str], Awaitable[None]], on_failure: Callable[[], object]) -> None:
        self._send = send
        self._on_failure = on_failure
        self._frames: list[str] = []
        self._queued_characters = 0  # Of all frames; `_sending_characters` are those of the frame being sent.
        self._sending_characters = 0
        self._sending: asyncio.Task[None] | None = None

    @property
    def is_half_full(self) -> bool:
        """True when all frames exceed half the limit. A sender that can wait should call `drained` first."""
        return self._queued_characters > MAX_QUEUED_CHARACTERS // 2

    def post(self, frame: str) -> bool:
        """Queue a frame. Returns False, and drops the frame, when the queue is full."""
        if self._queued_characters - self._sending_characters > MAX_QUEUED_CHARACTERS:
            return False
        self._frames.append(frame)
        self._queued_characters += len(frame)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all(), name="socket: send")
        return True

    async def drained(self, seconds: float | None = None) -> bool:
        """Wait until every frame is sent, for at most `seconds`. Returns False when frames are left."""
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=seconds)
        return not self._frames and (self._sending is None or self._sending.done())

    def stop(self) -> None:
        """Drop the queued frames and send nothing more."""
        self._drop()
        if self._sending is not None:
            self._sending.cancel()

    async def _send_all(self) -> None:
        try:
            while self._frames:
                frame = self._frames.pop(0)
                self._sending_characters = len(frame)
                await self._send(frame)
                self._queued_characters -= len(frame)
                self._sending_characters = 0
        except Exception:  # Servers raise various errors here. The connection is broken after any of them.
            logger.warning("A frame could not be sent; the browser is disconnected", exc_info=True)
            self._drop()
            self._on_failure()
        finally:
            self._sending = None  # An idle socket keeps no ended task.

    def _drop(self) -> None:
        """Drop all frames. A queue that stayed half full would be drained at once, again and again."""
        self._frames.clear()
        self._queued_characters = self._sending_characters = 0
