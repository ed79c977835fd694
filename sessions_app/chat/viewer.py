"""Viewer: sends one browser tab the news of the session that it shows, and the replies to the tab's own frames."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from sessions_app.chat import protocol
from sessions_app.chat.browser_encoder import BrowserEncoder
from sessions_app.chat.server_frames import ReadyFrame, SessionsFrame
from sessions_app.conf import conf
from sessions_app.jobs.listing import open_and_recent_jobs
from sessions_app.live.notices import job_notice, schedule_notice
from sessions_app.live.process import live
from sessions_app.live.session_feed import SessionFeed
from sessions_app.live.updates import EventUpdate, NoticeUpdate, StatusUpdate, TextUpdate
from sessions_app.process.pool import UNAVAILABLE
from sessions_app.rendering.session_view import Reader
from sessions_app.scheduling.listing import tasks_of_session
from sessions_app.sessions.ownership import User
from sessions_app.store.sql import event_log
from sessions_app.store.sql.event_log import SessionStatus

logger = logging.getLogger(__name__)
MAX_REPLY_CHARACTERS = 256 * 1024
"""Limit on the characters of the replies that wait for the browser."""
FAREWELL_SECONDS = 1.0
GREETING_SECONDS = 1.0
"""Shortest time between two greetings that the browser asks for."""


class Viewer:
    """Sends the updates of a feed as frames, one at a time, no faster than the browser reads.

    A task sends while there are updates, another one while there are replies: an idle tab has none. Replies need not
    wait for an update that is being read from PostgreSQL.

    Args:
        send: sends a frame, and returns when the socket has room for the next one.
        close: closes the socket with a code.

    Attributes:
        has_ended: True from the beginning of `end` on; frames that still arrive are ignored.
        is_new: True while the session does not exist: its first message creates it.
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
            on_text=self._encoder.text_frame,  # The blocks of a text are rendered in its order.
        )
        self.has_ended = False
        self.is_new = False
        self._is_open = False  # The feed is read from the first greeting on.
        self._is_sending_updates = False
        self._replies: list[str] = []
        self._replying: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_greeting_at = 0.0
        self._greeting: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None

    async def on_hello(self, after: int) -> None:
        """Greet the browser, which has the events up to `after`. Events that this socket has sent are not sent again.

        All greetings that the browser asks for within `GREETING_SECONDS` of the last one become one later greeting.
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
        await self._greet(0)

    async def _greet(self, after: int) -> None:
        if self.is_new:
            self._hub.expect(self._session_id, self._on_created)
            # Another tab may have created the session before this tab expected it.
            if await event_log.session_status(self._session_id, self._user_id) is not None:
                self._on_created()
            elif self.is_new:
                self.post(ReadyFrame(self._session_id, 0, None, [], []).json())
        else:
            self._is_open = True
            self._feed.greet(after)

    def expect_session(self, app_name: str) -> None:
        """Show a session that does not exist yet: its first message, from any tab, creates it with this app."""
        self.is_new = True
        self._set_app(app_name)

    def begin(self) -> None:
        """Show the session, which the first message of this socket has just created for its user."""
        self.is_new = False
        self._is_open = True
        self._feed.begin()
        self._hub.stop_expecting(self._session_id, self._on_created)

    def _on_created(self) -> None:
        """Greet the browser: another tab of the user, or another user, has created the session."""
        if self.is_new:
            self.is_new = False
            self._is_open = True
            self._feed.greet()

    def follow_list(self) -> None:
        """Tell the browser from now on when the list of the user's sessions has changed. Idempotent."""
        self._list_news.watch(self._user_id, self._on_list_change)

    def _on_list_change(self) -> None:
        self.post(SessionsFrame().json())

    def post(self, frame: str) -> bool:
        """Queue a reply. Return False, and drop the reply, when too many wait; the browser is then greeted again."""
        if self.has_ended:
            return False
        if self._has_many_replies:
            self._feed.greet()
            self._on_full()
            return False
        self._replies.append(frame)
        if self._replying is None:
            self._replying = self._create_task(self._send_replies)
        return True

    async def end(self, code: int, frame: str = "") -> None:
        """Close the socket, after a last frame if the browser reads it within a second. Idempotent."""
        if self.has_ended:
            return
        is_queued = bool(frame) and self.post(frame)
        self.has_ended = True
        if is_queued and self._replying is not None:
            await asyncio.wait([self._replying], timeout=FAREWELL_SECONDS)
        self.leave()
        await self._close(code)

    async def fail(self, error: Exception) -> None:
        """Log an unexpected error under a reference, tell the browser the reference, and close: it connects again.

        The browser gets no reference when PostgreSQL is away: it connects again until PostgreSQL is back.
        """
        if isinstance(error, UNAVAILABLE):
            logger.warning("Closing a viewer of session %s: PostgreSQL is away (%s)", self._session_id, error)
            await self.end(protocol.CLOSE_TRY_AGAIN)
            return
        reference = log_failure(self._session_id, error)
        await self.end(protocol.CLOSE_TRY_AGAIN, protocol.failure_frame(reference).json())

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
            if task is not asyncio.current_task():
                task.cancel()

    def on_signed_out(self) -> None:
        """Close the socket: its user is no longer signed in."""
        self._feed.leave()
        self._replies.clear()
        self._create_task(partial(self.end, protocol.CLOSE_NOT_SIGNED_IN))

    # Sending

    def _on_wake(self) -> None:
        """Send the updates of the feed, if the tab has said hello and no task sends them already."""
        if self._feed.reason:
            # The browser may not read: the task that sends would never learn of the end.
            self._create_task(partial(self.end, protocol.CLOSE_NOT_FOUND))
        elif self._is_open and not self._is_sending_updates and not self.has_ended:
            self._is_sending_updates = True
            self._create_task(self._send_updates)

    async def _send_updates(self) -> None:
        try:
            while frame := await self._next_frame():
                await self._send_in_turn(frame)
        finally:
            self._is_sending_updates = False

    async def _send_replies(self) -> None:
        try:
            while self._replies:
                await self._send_in_turn(self._replies.pop(0))
        finally:
            self._replying = None  # An idle socket keeps no ended task.

    async def _send_in_turn(self, frame: str) -> None:
        async with self._turn:
            try:
                await self._send(frame)
            except Exception:  # Servers raise various errors. The connection is broken after any of them.
                logger.warning("A frame could not be sent; the browser is disconnected", exc_info=True)
                await self.end(protocol.CLOSE_TRY_AGAIN)

    async def _next_frame(self) -> str:
        """Return the frame of the next update; empty when there is none yet."""
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
        """Give the browser some seconds to read what it has."""
        if self._deadline is None:
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
            with self._encoder.view.reader.reading():  # The hub calls from the task that publishes the news.
                await self.fail(error)


def log_failure(session_id: UUID, error: Exception) -> str:
    """Log an unexpected error under a new reference, which is returned."""
    reference = uuid4().hex[:8]
    logger.error("Serving session %s failed (reference %s)", session_id, reference, exc_info=error)
    return reference
