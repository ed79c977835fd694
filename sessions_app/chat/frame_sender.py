"""Sender of frames to one browser tab: one frame at a time, no faster than the browser reads.

    updates of the feed --- send() ---------------+
                                                  +-- one frame at a time --> socket or stream
    replies --------------- post() --> replies ---+

A reply, such as the `pong` that keeps a connection alive, need not wait until an update is read from PostgreSQL: a task
of its own sends the replies, and ends when there are none. An idle tab has no task.

The socket takes a frame when it has room, so memory is bounded by the feed's buffer and `MAX_REPLY_CHARACTERS`. A
browser that leaves one of them full for `slow_reader_seconds` is disconnected. It connects again and reads what it
missed from PostgreSQL.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol

from sessions_app.chat import protocol
from sessions_app.conf import conf
from sessions_app.process.failures import log_unexpected
from sessions_app.process.pool import UNAVAILABLE
from sessions_app.rendering.session_view import Reader

logger = logging.getLogger(__name__)
MAX_REPLY_CHARACTERS = 256 * 1024
"""Maximum characters of queued replies."""
FAREWELL_SECONDS = 1.0
"""Maximum time for a last frame before the socket is closed."""


class Transport(Protocol):
    """Socket or stream to the browser."""

    async def send(self, frame: str) -> None:
        """Send a frame. Return when there is room for the next frame."""

    async def close(self, code: int) -> None:
        """Close the socket or the stream with a code."""


class FrameSource(Protocol):
    """Viewer whose frames are sent."""

    @property
    def is_full(self) -> bool:
        """True while so many updates wait that the browser must read."""

    def on_drop(self) -> None:
        """Make up for a dropped reply."""

    def leave(self) -> None:
        """Stop watching: no more frames are sent. Idempotent."""


class FrameSender:
    """Send frames until the socket is closed.

    Args:
        subject: names what the browser follows, for the log.

    Attributes:
        has_ended: True once `end` has begun; frames that still arrive are ignored.
    """

    def __init__(self, subject: str, reader: Reader, transport: Transport, source: FrameSource) -> None:
        self._subject = subject
        self._reader = reader
        self._transport = transport
        self._source = source
        self.has_ended = False
        self._replies: list[str] = []
        self._replying: asyncio.Task[None] | None = None
        # A frame may be sent in several pieces, which must not mix with another frame.
        self._turn = asyncio.Lock()
        # The event loop itself keeps only weak references to tasks.
        self._tasks: set[asyncio.Task[None]] = set()
        self._deadline: asyncio.TimerHandle | None = None

    async def send(self, frame: str) -> None:
        """Send a frame in its turn. Return when the socket has room."""
        async with self._turn:
            try:
                await self._transport.send(frame)
            except Exception:
                # Each ASGI server raises its own errors. The connection is broken after any of them.
                logger.warning("A frame could not be sent; the browser is disconnected", exc_info=True)
                await self.end(protocol.CLOSE_TRY_AGAIN)

    def post(self, frame: str) -> bool:
        """Queue a reply and return True. If too many replies are queued, drop this reply and return False."""
        if self.has_ended:
            return False
        if self._has_many_replies:
            self._source.on_drop()
            self.on_full()
            return False
        self._replies.append(frame)
        if self._replying is None:
            self._replying = self.start(self._send_replies)
        return True

    async def _send_replies(self) -> None:
        try:
            while self._replies:
                await self.send(self._replies.pop(0))
        finally:
            self._replying = None  # Free the ended task: idle sockets should be small.

    async def end(self, code: int, frame: str = "") -> None:
        """Send a last frame, if there is one, and close the socket. Idempotent.

        The close waits at most `FAREWELL_SECONDS` for the browser to read the frame.
        """
        if self.has_ended:
            return
        is_queued = bool(frame) and self.post(frame)  # before `has_ended`, which makes `post` drop frames
        self.has_ended = True
        if is_queued and self._replying is not None:
            await asyncio.wait([self._replying], timeout=FAREWELL_SECONDS)
        self.leave()
        await self._transport.close(code)

    async def fail(self, error: Exception) -> None:
        """Log an unexpected error, send the browser its reference, and close. The browser connects again."""
        if isinstance(error, UNAVAILABLE):
            # Every tab fails while PostgreSQL is away: a line without traceback each, and no message for the users.
            logger.warning("Closing a viewer of %s: PostgreSQL is away (%s)", self._subject, error)
            await self.end(protocol.CLOSE_TRY_AGAIN)
            return
        unexpected = log_unexpected(error, f"Serving {self._subject}")
        await self.end(protocol.CLOSE_TRY_AGAIN, protocol.error_frame(unexpected).json())

    def on_signed_out(self) -> None:
        """Close the socket, because its user is no longer signed in."""
        # Drop what is queued first: a browser that reads slowly must get nothing after the sign-out.
        self._source.leave()
        self._replies.clear()
        self.start(partial(self.end, protocol.CLOSE_NOT_SIGNED_IN))

    def leave(self) -> None:
        """Send nothing more. Running invocations continue."""
        self.has_ended = True
        self._source.leave()
        self._replies.clear()
        if self._deadline is not None:
            self._deadline.cancel()
        for task in self._tasks:
            # `end` often runs in one of these tasks, and closes the socket after this.
            if task is not asyncio.current_task():
                task.cancel()

    def on_full(self) -> None:
        """Give the browser `slow_reader_seconds` to read its queued frames."""
        if self._deadline is None:  # The first full buffer starts the clock; later ones do not extend it.
            seconds = conf().slow_reader_seconds
            self._deadline = asyncio.get_running_loop().call_later(seconds, self._end_if_slow, seconds)

    def _end_if_slow(self, seconds: float) -> None:
        self._deadline = None
        if self.has_ended or not (self._source.is_full or self._has_many_replies):
            return
        logger.warning(
            "A browser on %s did not read its frames within %.0f seconds; it is disconnected",
            self._subject,
            seconds,
        )
        self.start(partial(self.end, protocol.CLOSE_TOO_SLOW))

    @property
    def _has_many_replies(self) -> bool:
        return sum(map(len, self._replies)) > MAX_REPLY_CHARACTERS

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Start a task, which `leave` cancels. An error of the task closes the socket by `fail`."""
        task = asyncio.create_task(self._run_task(work), name=f"viewer of {self._subject}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run_task(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - logged, and reported to the browser
            # The hub wakes viewers from the publishing task, so this task has another user's language.
            with self._reader.reading():
                await self.fail(error)
