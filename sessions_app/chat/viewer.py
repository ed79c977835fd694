"""Viewer: sends one browser tab the news of the session that it shows."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from sessions_app.chat import protocol
from sessions_app.chat.browser_encoder import BrowserEncoder, text_frame
from sessions_app.chat.event_frames import event_frame
from sessions_app.chat.send_queue import SendQueue
from sessions_app.chat.server_frames import PartialFrame, ReadyFrame, SessionsFrame
from sessions_app.chat.streamed_blocks import RenderedBlocks
from sessions_app.chat.text_so_far import TextSoFar
from sessions_app.conf import conf
from sessions_app.jobs.listing import open_and_recent_jobs
from sessions_app.live.known_work import KnownWork
from sessions_app.live.notices import job_notice, schedule_notice
from sessions_app.live.process import live
from sessions_app.live.streamed_text import TextChunk
from sessions_app.live.updates import EventUpdate, NoticeUpdate, TextUpdate
from sessions_app.process.pool import UNAVAILABLE
from sessions_app.rendering.session_view import Reader, SessionView
from sessions_app.scheduling.listing import tasks_of_session
from sessions_app.sessions.ownership import User
from sessions_app.store.sql import event_log

logger = logging.getLogger(__name__)
CATCH_UP_ROWS = 50
KEEP_ROWS_SECONDS = 1.0
"""Time for which rows are kept while the browser reads earlier ones; after it they are read again."""
FAREWELL_SECONDS = 1.0
GREETING_SECONDS = 1.0
"""Shortest time between two greetings that the browser asks for."""


class Viewer:
    """Sends each event once and in order, with streamed text and notices between them. Watches the process's hub.

    An event that follows the last one sent (`_seq`) is passed on; across a gap the viewer reads PostgreSQL. When the
    browser does not read and the send queue is full, the viewer stops watching until the queue is drained, then
    greets the browser again. The viewer also greets again when notices were lost.

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
        self.encoder = BrowserEncoder(Reader.of(user))
        self._close = close
        # A socket may leave after the process has closed its hub. `live()` would then start another hub.
        self._hub, self._list_news = live().hub, live().list_news
        self._send_queue = SendQueue(send, self._on_send_failure)
        self._is_paused = False
        self.has_ended = False
        self.is_new = False
        self._seq = self._log_position = 0
        self._view = SessionView(session_id, "", self.encoder.reader)
        self._known_work = KnownWork()
        self._tasks: list[asyncio.Task[None]] = []
        self._text_so_far: TextSoFar | None = None
        self._catching_up: asyncio.Task[None] | None = None
        self._next_greeting_at = 0.0
        self._greeting: asyncio.Task[None] | None = None
        self._greeting_turn = asyncio.Lock()
        # No news is sent before the first status shows that the session is the person's.
        self._is_greeted = False
        self._notices_meanwhile: list[NoticeUpdate] | None = None  # None except during a greeting.

    async def on_hello(self, after: int) -> None:
        """Greet the browser, which has the events up to `after`. Events that this socket has sent are not sent again.

        All greetings that the browser asks for within `GREETING_SECONDS` of the last one become one later greeting.
        """
        wait = self._next_greeting_at - time.monotonic()
        if wait <= 0:
            self._next_greeting_at = time.monotonic() + GREETING_SECONDS
            await self.greet(max(after, self._seq))
        elif self._greeting is None or self._greeting.done():
            self._greeting = self._create_task(self._greet_later(wait))

    async def _greet_later(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._next_greeting_at = time.monotonic() + GREETING_SECONDS
        await self.greet(self._seq)

    async def greet(self, after: int) -> None:
        """Send the session's status, then the events after `after`, and watch the hub from now on.

        Notices that arrive meanwhile are sent after the status, because they may be newer. A browser that was
        greeted before also gets notices, text and events immediately, because PostgreSQL may be away for a while.
        """
        async with self._greeting_turn:
            if self._is_paused:  # Another greeting follows when the queue is drained.
                return
            self._notices_meanwhile = []
            if not self.is_new and not self._is_greeted:
                self._hub.watch(self._session_id, self)
                self._hub.stop_expecting(self._session_id, self._on_created)
            try:
                await self._greet(after)
            finally:
                self._notices_meanwhile = None

    async def _greet(self, after: int) -> None:
        hub = self._hub
        streaming = hub.streaming_invocations(self._session_id)
        session_status = await event_log.session_status(self._session_id, self._user_id)
        if session_status is None:
            await self._greet_without_session()
            return
        if self.is_new:
            self._on_created()
            return
        # Read after the status, so that the jobs include all that the status counts as active.
        jobs = [job_notice(job) for job in await open_and_recent_jobs(self._session_id)]
        schedules = [schedule_notice(task) for task in await tasks_of_session(self._session_id)]
        hub.drop_ended_text(self._session_id, streaming, session_status)
        # Events that were sent while the status was read are not sent again.
        self._seq = max(self._seq, min(after, session_status.last_seq))
        self._view = replace(self._view, app_name=session_status.app_name)
        self._known_work.replace(session_status)
        invocation = session_status.invocation
        ready = ReadyFrame(
            self._session_id, session_status.last_seq, invocation, jobs, schedules, self.encoder.reader
        )
        if not self.post(ready.json()):
            return
        notices, self._notices_meanwhile = self._notices_meanwhile or [], None
        self._is_greeted = True
        hub.watch(self._session_id, self)
        self._catch_up_with_text()
        for update in notices:
            self.on_notice(update)
        self.on_log_position(session_status.last_seq)

    def expect_session(self, app_name: str) -> None:
        """Show a session that does not exist yet: its first message, from any tab, creates it with this app."""
        self.is_new = True
        self._view = replace(self._view, app_name=app_name)

    async def _greet_without_session(self) -> None:
        if not self.is_new:
            await self.end(protocol.CLOSE_NOT_FOUND)
        elif self.post(ReadyFrame(self._session_id, 0, None, [], []).json()):
            self._hub.expect(self._session_id, self._on_created)
            # Another tab may have created the session before this one expected it.
            if await event_log.session_status(self._session_id, self._user_id) is not None:
                self._on_created()

    def begin(self) -> None:
        """Watch the session, which the first message of this socket has just created for its person."""
        self.is_new, self._is_greeted = False, True
        self._hub.watch(self._session_id, self)
        self._catch_up_with_text()
        self._hub.stop_expecting(self._session_id, self._on_created)

    def _on_created(self) -> None:
        """Greet the browser: another tab of the person, or another person, has created the session."""
        if self.is_new:
            self.is_new = False
            self._create_task(self.greet(0))

    def follow_list(self) -> None:
        """Tell the browser from now on when the list of the person's sessions has changed. Idempotent."""
        self._list_news.watch(self._user_id, self._on_list_change)

    def _on_list_change(self) -> None:
        self.post(SessionsFrame().json())

    def post(self, frame: str) -> bool:
        """Queue a frame. Returns False, and drops the frame, when the browser is too far behind."""
        if self._is_paused:
            return False
        if self._send_queue.post(frame):
            return True
        self._is_paused, self._is_greeted = True, False
        self._hub.unwatch(self._session_id, self)
        self._create_task(self._greet_when_drained())
        return False

    async def end(self, code: int, frame: str = "") -> None:
        """Close the socket, after a last frame if the browser reads it within a second. Idempotent."""
        if self.has_ended:
            return
        self.has_ended = True
        if frame and self.post(frame):
            await self._send_queue.drained(FAREWELL_SECONDS)
        self._stop_sending()
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
        """Stop watching after the socket was closed. Running invocations go on."""
        self._stop_sending()
        for task in self._tasks:
            task.cancel()

    def _stop_sending(self) -> None:
        self._hub.unwatch(self._session_id, self)
        self._hub.stop_expecting(self._session_id, self._on_created)
        self._list_news.unwatch(self._user_id, self._on_list_change)
        self._send_queue.stop()
        self._is_paused = True

    # Watcher

    def on_event(self, update: EventUpdate) -> None:
        """Send the event if it is the next one, else catch up from PostgreSQL."""
        frame = None
        if self._is_greeted and update.seq == self._seq + 1:
            frame = self.encoder.event_frame(update)
        if frame is None:
            self.on_log_position(update.seq)
        elif self.post(frame):
            self._seq = update.seq

    def on_log_position(self, seq: int) -> None:
        """Catch up from PostgreSQL to `seq` at least."""
        self._log_position = max(self._log_position, seq)
        if not self._is_greeted or self._seq >= self._log_position:
            return
        if self._catching_up is None or self._catching_up.done():
            self._catching_up = self._create_task(self._catch_up())

    def on_text(self, update: TextUpdate) -> None:
        """Send streamed text; nothing before the first greeting, which sends the text so far at its end."""
        chunk = update.chunk
        is_unsent = self._text_so_far is not None and self._text_so_far.is_unsent(chunk.stream)
        if self._is_greeted and not is_unsent:
            self.post(text_frame(update))

    def on_notice(self, update: NoticeUpdate) -> None:
        """Send a notice. A notice that comes during a greeting is sent after the status, too."""
        if self._notices_meanwhile is not None:
            self._notices_meanwhile.append(update)
        if self._is_greeted:
            self._known_work.note(update.notice)
            self.post(self.encoder.notice_frame(update))

    def on_status(self, session_status: event_log.SessionStatus) -> None:
        """Catch up, and greet again when notices were lost: see `KnownWork.has_missed`."""
        self.on_log_position(session_status.last_seq)
        if self._known_work.has_missed(session_status):
            self._create_task(self.greet(self._seq))

    def on_deleted(self) -> None:
        """Close the socket."""
        self._create_task(self.end(protocol.CLOSE_NOT_FOUND))

    def on_signed_out(self) -> None:
        """Close the socket: its person is no longer signed in."""
        self._stop_sending()
        self._create_task(self.end(protocol.CLOSE_NOT_SIGNED_IN))

    def _on_send_failure(self) -> None:
        self._create_task(self.end(protocol.CLOSE_TRY_AGAIN))

    # Tasks

    def _catch_up_with_text(self) -> None:
        """Send the text streamed so far, no faster than the browser reads."""
        if self._text_so_far is not None:
            self._text_so_far.begin()
        elif self._hub.growing_texts(self._session_id):
            self._text_so_far = TextSoFar(self._hub, self._session_id, self._send_queue, self._post_text)
            self._create_task(self._send_text_so_far(self._text_so_far))

    async def _send_text_so_far(self, text_so_far: TextSoFar) -> None:
        try:
            await text_so_far.send()
        finally:
            self._text_so_far = None  # An idle socket keeps none.

    def _post_text(self, chunk: TextChunk, blocks: RenderedBlocks | None) -> bool:
        return self._is_greeted and self.post(PartialFrame.of_chunk(chunk, blocks).json())

    async def _catch_up(self) -> None:
        """Send the events between the last one sent and the log's position, no faster than the browser reads."""
        while self._seq < self._log_position:
            if self._send_queue.is_half_full:
                await self._send_queue.drained()
            rows = await event_log.events_after(self._session_id, self._seq, CATCH_UP_ROWS)
            if not rows:
                return
            for seq, body in rows:
                if self._send_queue.is_half_full and not await self._send_queue.drained(KEEP_ROWS_SECONDS):
                    break  # The rows are read again when the browser reads: one that stalls holds none of them.
                frame = await event_frame(self._view, seq, body)
                if seq != self._seq + 1:
                    break  # The hub brought this event meanwhile, or the browser asked for earlier ones.
                if not self.post(frame):
                    return
                self._seq = seq

    async def _greet_when_drained(self) -> None:
        """Greet the browser again when it has read the queued frames; disconnect it when it is too slow."""
        seconds = conf().slow_reader_seconds
        if await self._send_queue.drained(seconds):
            if self.has_ended:  # The end has emptied the queue.
                return
            self._is_paused = False
            await self.greet(self._seq)
            return
        logger.warning(
            "A browser on session %s did not read its frames within %.0f seconds; it is disconnected",
            self._session_id,
            seconds,
        )
        await self.end(protocol.CLOSE_TOO_SLOW)

    def _create_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._run_task(work), name=f"viewer of {self._session_id}")
        self._tasks.append(task)
        task.add_done_callback(self._tasks.remove)
        return task

    async def _run_task(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            with self.encoder.reader.reading():  # The hub calls from the task that publishes the news.
                await work
        except Exception as error:  # noqa: BLE001 - logged, and told to the browser
            await self.fail(error)


def log_failure(session_id: UUID, error: Exception) -> str:
    """Log an unexpected error under a new reference, which is returned."""
    reference = uuid4().hex[:8]
    logger.error("Serving session %s failed (reference %s)", session_id, reference, exc_info=error)
    return reference
