"""Viewer: what one browser sees of the session that it watches (design.md, "Streaming")."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any
from uuid import UUID

from sessions_app.chat import protocol
from sessions_app.chat.send_queue import SendQueue
from sessions_app.codec import event_to_show
from sessions_app.conf import conf
from sessions_app.db import event_log
from sessions_app.db.pool import UNAVAILABLE
from sessions_app.history.rewinds import rewound_from
from sessions_app.jobs.listing import jobs_of_session
from sessions_app.live.frames import EventNews, Notice, event_frame
from sessions_app.live.notices import job_fields, schedule_fields
from sessions_app.live.process import live
from sessions_app.rendering import render_event
from sessions_app.scheduling.listing import tasks_of_session

logger = logging.getLogger(__name__)
CATCH_UP_ROWS = 50
FAREWELL_SECONDS = 1.0


class Viewer:
    """Sends what is new in the session, in order and once; the process's hub calls it.

    `_seq` is the last event sent. News that follow it directly are passed on; for everything else it reads
    PostgreSQL. A browser that does not read falls behind: it stops watching, and is greeted anew when it has read
    what was sent. So is one that was told something else than PostgreSQL says: news may be lost.

    Args:
        send: passes a frame on, and returns when the socket has room for the next one.
        close: closes the socket with a code.
    """

    def __init__(
        self,
        session_id: UUID,
        user_id: Any,
        *,
        send: Callable[[str], Awaitable[None]],
        close: Callable[[int], Coroutine[Any, Any, None]],
    ) -> None:
        self._session_id = session_id
        self._user_id = user_id
        self._close = close
        self._send_queue = SendQueue(send, lambda: self._begin(self.end(protocol.CLOSE_TRY_AGAIN)))
        self._is_behind = False
        self._seq = self._reaches = 0
        self._open: set[str] = set()  # the invocations and jobs that the browser takes for queued or running
        self._open_at_last_tick: frozenset[str] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._catching_up: asyncio.Task[None] | None = None

    async def greet(self, after: int) -> None:
        """Say where the session stands, then send what the browser lacks, then what happens."""
        hub = live().hub
        spoke = hub.speaking(self._session_id)
        session_status = await event_log.session_status(self._session_id, self._user_id)
        if session_status is None:
            await self.end(protocol.CLOSE_NOT_FOUND)
            return
        # Read after it: a job that it counts as open is among them.
        jobs = [job_fields(job) for job in await jobs_of_session(self._session_id)]
        schedules = [schedule_fields(task) for task in await tasks_of_session(self._session_id)]
        for ended in spoke - session_status.open:
            hub.forget_text(self._session_id, ended)
        hub.forget_void_text(self._session_id, session_status)
        self._seq = min(after, session_status.last_seq)
        self._open = set(session_status.open)
        invocation = None
        if session_status.invocation:
            invocation = {"id": session_status.invocation[0], "status": session_status.invocation[1]}
        ready = protocol.ready_frame(
            self._session_id, session_status.last_seq, invocation=invocation, jobs=jobs, schedules=schedules
        )
        if not self.post(ready):
            return
        hub.watch(self._session_id, self)
        if invocation:
            hub.want_text(self._session_id)
        self.hint(session_status.last_seq)

    def post(self, frame: str) -> bool:
        """Send a frame after those before it. False when the browser is too far behind for that."""
        if self._is_behind:
            return False
        if self._send_queue.post(frame):
            return True
        self._is_behind = True
        live().hub.unwatch(self._session_id, self)
        self._begin(self._wait_until_read())
        return False

    async def end(self, code: int, frame: str = "") -> None:
        """Close the socket, after a last frame if the browser takes it soon."""
        if frame and self.post(frame):
            await self._send_queue.drained(FAREWELL_SECONDS)
        self._stop_sending()
        await self._close(code)

    def leave(self) -> None:
        """The socket is gone. What runs goes on."""
        self._stop_sending()
        for task in self._tasks:
            task.cancel()

    def _stop_sending(self) -> None:
        live().hub.unwatch(self._session_id, self)
        self._send_queue.stop()
        self._is_behind = True

    # What the hub brings

    def event(self, news: EventNews) -> None:
        """An event was committed in this process."""
        if news.seq != self._seq + 1:
            self.hint(news.seq)
        elif self.post(news.frame):
            self._seq = news.seq

    def hint(self, seq: int) -> None:
        """The log has reached `seq`."""
        self._reaches = max(self._reaches, seq)
        if self._seq < self._reaches and (self._catching_up is None or self._catching_up.done()):
            self._catching_up = self._begin(self._catch_up())

    def chunk(self, frame: str) -> None:
        """Text has grown."""
        self.post(frame)

    def notice(self, notice: Notice, frame: str) -> None:
        """An invocation, a job or a scheduled task has changed."""
        if notice.is_open:
            self._open.add(notice.id)
        else:
            self._open.discard(notice.id)
        self.post(frame)

    def session_status(self, session_status: event_log.SessionStatus) -> None:
        """What PostgreSQL says. A difference that lasts is of notices that were lost."""
        self.hint(session_status.last_seq)
        is_settled = session_status.open == self._open_at_last_tick
        self._open_at_last_tick = session_status.open
        if is_settled and session_status.open != self._open:
            self._begin(self.greet(self._seq))

    def gone(self) -> None:
        """The session was deleted."""
        self._begin(self.end(protocol.CLOSE_NOT_FOUND))

    # Beside the frames that come

    async def _catch_up(self) -> None:
        """Send what the log has and the browser has not, no faster than it reads."""
        while self._seq < self._reaches:
            rows = await event_log.events_after(self._session_id, self._seq, CATCH_UP_ROWS)
            if not rows:
                return
            for seq, body in rows:
                if self._send_queue.is_half_full:
                    await self._send_queue.drained()
                event = event_to_show(json.loads(body))
                is_rewind = event.actions.rewind_before_invocation_id is not None
                rewound = await rewound_from(self._session_id, seq) if is_rewind else None
                if seq != self._seq + 1:
                    break  # it was sent meanwhile, or the browser asked for earlier ones
                html = render_event(self._session_id, seq, event)
                if not self.post(event_frame(seq, body, html, rewound)):
                    return
                self._seq = seq

    async def _wait_until_read(self) -> None:
        seconds = conf().slow_reader_seconds
        if await self._send_queue.drained(seconds):
            self._is_behind = False
            await self.greet(self._seq)
            return
        logger.warning(
            "A browser that watches session %s has not read what was sent within %.0f seconds: it is disconnected",
            self._session_id,
            seconds,
        )
        await self.end(protocol.CLOSE_TOO_SLOW)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._try(work), name=f"viewer of {self._session_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _try(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except UNAVAILABLE as error:
            logger.warning("Session %s cannot be shown: PostgreSQL is away (%s)", self._session_id, error)
            await self.end(protocol.CLOSE_TRY_AGAIN)
