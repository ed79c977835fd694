"""Viewer: sends one browser tab the news of its session, and the replies to the tab's own frames.

    hub -> SessionFeed -- take() --> updates --+
                                               +-- one frame at a time --> socket or stream
    frame handlers ------- post() -> replies --+

Two tasks send: one for updates, one for replies. A reply, such as the `pong` that keeps a connection alive, need not
wait until an update is read from PostgreSQL. Each task ends when it has nothing to send, so an idle tab has none.

`send` returns when the socket has room, so memory is bounded by the feed's buffer and `MAX_REPLY_CHARACTERS`. A browser
that leaves one of them full for `slow_reader_seconds` is disconnected. It connects again and reads what it missed from
PostgreSQL.

    new --- first message, from any tab ---> open --- end(), leave() ---> ended
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from sessions_app.chat import protocol
from sessions_app.chat.browser_encoder import BrowserEncoder
from sessions_app.chat.server_frames import ReadyFrame, SessionsFrame
from sessions_app.conf import conf
from sessions_app.jobs.listing import open_and_recent_jobs
from sessions_app.live.notices import job_notice, schedule_notice
from sessions_app.live.process import live
from sessions_app.live.session_feed import SessionFeed
from sessions_app.live.updates import EventUpdate, NoticeUpdate, StatusUpdate, TextUpdate
from sessions_app.process.failures import log_unexpected
from sessions_app.process.pool import UNAVAILABLE
from sessions_app.rendering.session_view import Reader
from sessions_app.scheduling.listing import tasks_of_session
from sessions_app.sessions.ownership import User
from sessions_app.store.sql import event_log
from sessions_app.store.sql.event_log import SessionStatus

logger = logging.getLogger(__name__)
MAX_REPLY_CHARACTERS = 256 * 1024
"""Maximum characters of queued replies."""
FAREWELL_SECONDS = 1.0
"""Maximum time for a last frame before the socket is closed."""
GREETING_SECONDS = 1.0
"""Minimum time between two greetings; each reads the session's status, jobs and schedules."""


class Viewer:
    """Send the updates of a feed as frames, one at a time, no faster than the browser reads.

    Args:
        send: sends a frame, and returns when the socket has room for the next frame.
        close: closes the socket with a code.

    Attributes:
        has_ended: True once `end` has begun; frames that still arrive are ignored.
        is_new: True until the first message has created the session.
    """

    def __init__(
        self,
        session_id: UUID,
        user: User,
        *,
        send: Callable[[str], Awaitable[None]],
        close: Callable[[int], Coroutine[Any, Any, None]],
    ) -> None:
        self._session_id = session_id
        self._user_id = user.pk
        self._encoder = BrowserEncoder(session_id, "", Reader.of(user))
        self._send = send
        self._close = close
        # A socket may leave after the process has closed its hub. `live()` would then start another hub.
        self._hub = live().hub
        self._list_news = live().list_news
        self._feed = SessionFeed(
            session_id,
            user.pk,
            restarts_text=True,
            on_wake=self._on_wake,
            on_full=self._on_full,
            # Encoded as the text arrives: `next_blocks` returns the blocks of each piece once, to the first caller.
            on_text=self._encoder.text_frame,
        )
        self.has_ended = False
        self.is_new = False
        # True from the first greeting on: before it the browser has not said what it has.
        self._is_open = False
        self._is_sending_updates = False
        self._replies: list[str] = []
        self._replying: asyncio.Task[None] | None = None
        # A frame may be sent in several pieces, which must not mix with another frame.
        self._turn = asyncio.Lock()
        # The event loop itself keeps only weak references to tasks.
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_greeting_at = 0.0
        self._greeting: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None

    async def on_hello(self, after: int) -> None:
        """Send the session's status, then the events after `after` that this socket has not sent yet.

        Greetings are at least `GREETING_SECONDS` apart: requests in between are answered by one later greeting.
        """
        wait = self._next_greeting_at - time.monotonic()
        if wait <= 0:
            self._next_greeting_at = time.monotonic() + GREETING_SECONDS
            await self._greet(after)
        elif self._greeting is None or self._greeting.done():
            self._greeting = self._create_task(partial(self._greet_later, wait))

    async def _greet_later(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._next_greeting_at = time.monotonic() + GREETING_SECONDS
        await self._greet(0)  # The feed knows the last event that it returned, so 0 repeats nothing.

    async def _greet(self, after: int) -> None:
        if self.is_new:
            # Expect first, query second: in the other order a session created in between would be missed.
            self._hub.expect(self._session_id, self._on_created)
            if await event_log.session_status(self._session_id, self._user_id) is not None:
                self._on_created()
            elif self.is_new:
                self.post(ReadyFrame(self._session_id, 0, None, [], []).json())
        else:
            self._is_open = True
            self._feed.greet(after)

    def expect_session(self, app_name: str) -> None:
        """Show a session that does not exist yet. Its first message, from any tab, creates it with this app."""
        self.is_new = True
        self._set_app(app_name)

    def begin(self) -> None:
        """Show the session that the first message of this socket has just created."""
        self.is_new = False
        self._is_open = True
        self._feed.begin()
        self._hub.stop_expecting(self._session_id, self._on_created)

    def _on_created(self) -> None:
        """Greet the browser after another tab, or another user, has created the session."""
        if self.is_new:  # `begin` may have been faster.
            # If the session belongs to another user, the feed finds out and ends the viewer.
            self.is_new = False
            self._is_open = True
            self._feed.greet()

    def follow_list(self) -> None:
        """Send a `sessions` frame whenever the user's list of sessions changes. Idempotent."""
        self._list_news.watch(self._user_id, self._on_list_change)

    def _on_list_change(self) -> None:
        self.post(SessionsFrame().json())

    def post(self, frame: str) -> bool:
        """Queue a reply and return True. If too many replies are queued, drop this reply and return False."""
        if self.has_ended:
            return False
        if self._has_many_replies:
            # The dropped reply may have been news: a greeting repeats the status of the session.
            self._feed.greet()
            self._on_full()
            return False
        self._replies.append(frame)
        if self._replying is None:
            self._replying = self._create_task(self._send_replies)
        return True

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
        await self._close(code)

    async def fail(self, error: Exception) -> None:
        """Log an unexpected error, send the browser its reference, and close. The browser connects again."""
        if isinstance(error, UNAVAILABLE):
            # Every tab fails while PostgreSQL is away: a line without traceback each, and no message for the users.
            logger.warning("Closing a viewer of session %s: PostgreSQL is away (%s)", self._session_id, error)
            await self.end(protocol.CLOSE_TRY_AGAIN)
            return
        unexpected = log_unexpected(error, f"Serving session {self._session_id}")
        await self.end(protocol.CLOSE_TRY_AGAIN, protocol.error_frame(unexpected).json())

    def leave(self) -> None:
        """Stop sending. Running invocations continue."""
        self.has_ended = True
        self._feed.leave()
        self._replies.clear()
        self._hub.stop_expecting(self._session_id, self._on_created)
        self._list_news.unwatch(self._user_id, self._on_list_change)
        if self._deadline is not None:
            self._deadline.cancel()
        for task in self._tasks:
            if (
                task is not asyncio.current_task()
            ):  # `end` often runs in a task of the viewer, and closes after this.
                task.cancel()

    def on_signed_out(self) -> None:
        """Close the socket, because its user is no longer signed in."""
        # Drop what is queued first: a browser that reads slowly must get nothing after the sign-out.
        self._feed.leave()
        self._replies.clear()
        self._create_task(partial(self.end, protocol.CLOSE_NOT_SIGNED_IN))

    # Sending

    def _on_wake(self) -> None:
        """Start to send updates, after the first greeting and unless a task is sending them."""
        if self._feed.reason:
            # A new task: the sending task may be blocked by a browser that does not read.
            self._create_task(partial(self.end, protocol.CLOSE_NOT_FOUND))
        elif self._is_open and not self._is_sending_updates and not self.has_ended:
            self._is_sending_updates = True
            self._create_task(self._send_updates)

    async def _send_updates(self) -> None:
        try:
            while frame := await self._next_frame():
                await self._send_in_turn(frame)
        finally:
            # No await between the last `take` and this line, so `_on_wake` cannot miss an update in between.
            self._is_sending_updates = False

    async def _send_replies(self) -> None:
        try:
            while self._replies:
                await self._send_in_turn(self._replies.pop(0))
        finally:
            self._replying = None  # Free the ended task: idle sockets should be small.

    async def _send_in_turn(self, frame: str) -> None:
        async with self._turn:
            try:
                await self._send(frame)
            except (
                Exception
            ):  # Each ASGI server raises its own errors. The connection is broken after any of them.
                logger.warning("A frame could not be sent; the browser is disconnected", exc_info=True)
                await self.end(protocol.CLOSE_TRY_AGAIN)

    async def _next_frame(self) -> str:
        """Return the frame of the next update; empty if there is none yet."""
        update = await self._feed.take()
        match update:
            case EventUpdate():
                return await self._encoder.event_frame(update)
            case TextUpdate():
                return self._encoder.text_frame(update)
            case NoticeUpdate():
                return self._encoder.notice_frame(update)
            case StatusUpdate():
                return await self._ready_frame(update.status)
        return ""

    async def _ready_frame(self, status: SessionStatus) -> str:
        self._set_app(status.app_name)
        # Query jobs after the status; otherwise an active job could be missing.
        jobs = [job_notice(job) for job in await open_and_recent_jobs(self._session_id)]
        schedules = [schedule_notice(task) for task in await tasks_of_session(self._session_id)]
        reader = self._encoder.view.reader
        return ReadyFrame(
            self._session_id, status.last_seq, status.invocation, jobs, schedules, reader
        ).json()

    def _set_app(self, app_name: str) -> None:
        self._encoder.view = replace(self._encoder.view, app_name=app_name)

    # Slow browsers

    def _on_full(self) -> None:
        """Give the browser `slow_reader_seconds` to read its queued frames."""
        if self._deadline is None:  # The first full buffer starts the clock; later ones do not extend it.
            seconds = conf().slow_reader_seconds
            self._deadline = asyncio.get_running_loop().call_later(seconds, self._end_if_slow, seconds)

    def _end_if_slow(self, seconds: float) -> None:
        self._deadline = None
        if self.has_ended or not (self._feed.is_full or self._has_many_replies):
            return
        logger.warning(
            "A browser on session %s did not read its frames within %.0f seconds; it is disconnected",
            self._session_id,
            seconds,
        )
        self._create_task(partial(self.end, protocol.CLOSE_TOO_SLOW))

    @property
    def _has_many_replies(self) -> bool:
        return sum(map(len, self._replies)) > MAX_REPLY_CHARACTERS

    # Tasks

    def _create_task(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._run_task(work), name=f"viewer of {self._session_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run_task(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - logged, and told to the browser
            # The hub wakes viewers from the publishing task, so this task has another user's language.
            with self._encoder.view.reader.reading():
                await self.fail(error)
