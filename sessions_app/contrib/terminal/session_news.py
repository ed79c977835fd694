"""SessionNews: news of one session for a terminal, in the order of the log."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from uuid import UUID

from runtime.events.event import Event
from sessions_app.base.codec import event_to_show
from sessions_app.errors import NotFoundError
from sessions_app.live.notices import Notice
from sessions_app.live.process import live
from sessions_app.live.streamed_text import GrowingText, TextChunk
from sessions_app.sessions.ownership import User
from sessions_app.store.session_service import CommittedEvent
from sessions_app.store.sql import event_log
from sessions_app.store.sql.event_log import SessionStatus

ROWS_AT_ONCE = 100
DELETED = "The conversation was deleted."


@dataclass(frozen=True)
class NewEvent:
    """A committed event.

    Attributes:
        body: JSON of the event, as it is stored.
    """

    seq: int
    event: Event
    body: str


News = NewEvent | TextChunk | Notice | SessionStatus
"""An event, streamed text, a notice, or the status of the session that each slow tick brings."""


@dataclass(frozen=True)
class FramelessEncoder:
    """Makes no frames: a terminal shows the events, texts and notices themselves."""

    def event_frame(self, committed: CommittedEvent, rewound_from: int | None) -> str | None:
        """Return None: the event's row is read."""
        return None

    def text_frame(self, text: GrowingText, chunk: TextChunk) -> str:
        """Return nothing."""
        return ""

    def notice_frame(self, notice: Notice) -> str:
        """Return nothing."""
        return ""


class SessionNews:
    """Watcher of the process's hub. Events are read from PostgreSQL: a lost hint delays them and loses nothing.

    Args:
        after: `seq` of the last event that is known already.
    """

    def __init__(self, session_id: UUID, user: User, after: int = 0) -> None:
        self.encoder = FramelessEncoder()
        self._session_id = session_id
        self._user_id = user.pk
        self._seq = self._log_position = after
        self._others: list[TextChunk | Notice | SessionStatus] = []
        self._is_deleted = False
        self._arrived = asyncio.Event()
        self._hub = live().hub

    def watch(self) -> None:
        """Begin to watch the session, which must exist, and take the text streamed so far. Idempotent."""
        self._hub.watch(self._session_id, self)
        for chunk in self._hub.texts(self._session_id):
            self.on_text(chunk, "")

    def leave(self) -> None:
        """Stop watching. Idempotent."""
        self._hub.unwatch(self._session_id, self)

    async def wait(self) -> None:
        """Wait until there is news."""
        await self._arrived.wait()

    async def take(self) -> list[News]:
        """Return the news since the last call: events first, because they contain the text that was streamed before.

        Raises:
            NotFoundError: the session was deleted.
        """
        self._arrived.clear()
        if self._is_deleted:
            raise NotFoundError(DELETED)
        others, self._others = self._others, []
        return [*await self._read_events(), *others]

    async def status(self) -> SessionStatus:
        """Return the session's status. The next `take` returns the events up to it.

        Raises:
            NotFoundError: the session was deleted.
        """
        status = await event_log.session_status(self._session_id, self._user_id)
        if status is None:
            raise NotFoundError(DELETED)
        self.on_log_position(status.last_seq)
        return status

    async def _read_events(self) -> list[News]:
        events: list[News] = []
        while self._seq < self._log_position:
            rows = await event_log.events_after(self._session_id, self._seq, ROWS_AT_ONCE)
            if not rows:
                break
            events += [NewEvent(seq, event_to_show(json.loads(body)), body) for seq, body in rows]
            self._seq = rows[-1][0]
        return events

    # Watcher

    def on_event(self, seq: int, frame: str) -> None:
        """Note that the log has reached the event."""
        self.on_log_position(seq)

    def on_log_position(self, seq: int) -> None:
        """Note that the log has reached `seq`."""
        self._log_position = max(self._log_position, seq)
        self._arrived.set()

    def on_text(self, chunk: TextChunk, frame: str) -> None:
        """Keep streamed text; thoughts are shown when they are complete."""
        if not chunk.stream.thought:
            self._add(chunk)

    def on_notice(self, notice: Notice, frame: str) -> None:
        """Keep a notice."""
        self._add(notice)

    def on_status(self, session_status: SessionStatus) -> None:
        """Keep the status of a slow tick."""
        self.on_log_position(session_status.last_seq)
        self._add(session_status)

    def on_deleted(self) -> None:
        """Note that the session was deleted."""
        self._is_deleted = True
        self._arrived.set()

    def _add(self, news: TextChunk | Notice | SessionStatus) -> None:
        self._others.append(news)
        self._arrived.set()
