"""SendQueue: the frames on their way to one socket, in order, and never more than it may keep waiting."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)
LIMIT = 256 * 1024
"""Characters that wait for a socket that does not read; one frame more may begin below it."""


class SendQueue:
    """A bounded queue. It fills only where `send` waits for the reader, as ASGI allows.

    Args:
        send: passes a frame on, and returns when the socket has room for the next one.
        on_failure: called when a frame could not be sent; nothing more is.
    """

    def __init__(self, send: Callable[[str], Awaitable[None]], on_failure: Callable[[], object]) -> None:
        self._send = send
        self._on_failure = on_failure
        self._frames: deque[str] = deque()
        self._waiting = 0
        self._sending: asyncio.Task[None] | None = None

    @property
    def is_half_full(self) -> bool:
        """Whether whoever can wait should."""
        return self._waiting > LIMIT // 2

    def post(self, frame: str) -> bool:
        """Have the frame sent after those before it. False when too much waits: nothing is kept of it then."""
        if self._waiting > LIMIT:
            return False
        self._frames.append(frame)
        self._waiting += len(frame)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all(), name="socket: send")
        return True

    async def drained(self, seconds: float | None = None) -> bool:
        """Wait until all that was posted is sent, so long at most; says whether it is."""
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=seconds)
        return not self._frames and (self._sending is None or self._sending.done())

    def stop(self) -> None:
        """Send nothing more."""
        self._frames.clear()
        if self._sending is not None:
            self._sending.cancel()

    async def _send_all(self) -> None:
        try:
            while self._frames:
                frame = self._frames.popleft()
                await self._send(frame)
                self._waiting -= len(frame)
        except Exception:  # whatever the server raises: the connection is of no use any more
            logger.warning("A frame for a browser could not be sent: it is disconnected", exc_info=True)
            self._frames.clear()
            self._on_failure()
