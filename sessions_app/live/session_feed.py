"""SessionFeed: the news of one session for one reader, as an async iterator of typed updates.

The hub calls the `on_…` methods, which never wait: they append to a bounded buffer, or note that the reader has a gap.
The reader pulls with `take` or `async for`. Everything that waits for PostgreSQL happens there, in the reader's task:
an idle or stalled reader has no task here. The phase decides what the next `take` returns, and how news is handled:

    phase     `take` returns                    events and texts of the hub        next phase
    --------  --------------------------------  ---------------------------------  ----------------------------------
    GREETING  the status, from PostgreSQL       raise the log position; dropped    EVENTS; ENDED without a session
    EVENTS    stored events up to the position  the same                           TEXT
    TEXT      growing texts, from where the     the same                           LIVE; EVENTS when the log has grown;
              reader has them to their ends                                        GREETING when notices were lost
    LIVE      the buffer                        buffered if they continue what     DRAINING at a gap in the log or a
                                                the reader has; else a gap         text, and after lost notices
    DRAINING  what was buffered before the gap  as in GREETING                     EVENTS; GREETING when notices were
                                                                                   lost
    ENDED     the end, once                     dropped

Notices are buffered in all phases, behind the status and the events. A full buffer drops all news, which makes a gap
and loses notices. A stalled reader therefore holds `MAX_BUFFERED_CHARACTERS` of updates at most, shared with the other
readers of the session, and later gets the rest from PostgreSQL and from the hub's texts.
"""

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from typing import Any
from uuid import UUID

from sessions_app.live.known_work import KnownWork, remember
from sessions_app.live.process import live
from sessions_app.live.streamed_text import StreamKey, TextChunk, text_from, utf16_length
from sessions_app.live.updates import (
    EndReason,
    EndUpdate,
    EventUpdate,
    NoticeUpdate,
    StatusUpdate,
    TextUpdate,
    Update,
)
from sessions_app.process.threads import wait_until_set
from sessions_app.store.sql import event_log
from sessions_app.store.sql.event_log import SessionStatus

MAX_BUFFERED_CHARACTERS = 256 * 1024
"""Limit on the characters of the buffered updates. The last accepted update may exceed the limit."""
ROWS_AT_ONCE = 50
KEEP_ROWS_SECONDS = 1.0
"""Time for which read rows are kept for a slow reader; later they are read again."""
PIECE_CHARACTERS = 16_384
"""Characters of a growing text in one update; a character may take twelve in JSON."""


class Phase(Enum):
    """Phase of a feed; see the table in the module's docstring."""

    GREETING = auto()
    EVENTS = auto()
    TEXT = auto()
    LIVE = auto()
    DRAINING = auto()
    ENDED = auto()


class SessionFeed:
    """Yields each event once and in order, with streamed text and notices between them.

    Args:
        after: `seq` of the reader's last event.
        restarts_text: True for a reader that drops its streamed text at each status.
        on_wake: called when `take` may have something to return.
        on_full: called when the buffer becomes full.
        on_text: called with each new piece of text before it is buffered, in the order of the text.

    Attributes:
        user_id: primary key of the session's user.
        seq: `seq` of the last taken event.
        is_full: True after an update found the buffer full, until the reader is greeted again.
        reason: reason of the feed's end; empty before the end.
    """

    def __init__(
        self,
        session_id: UUID,
        user_id: Any,
        *,
        after: int = 0,
        restarts_text: bool = False,
        on_wake: Callable[[], object] | None = None,
        on_full: Callable[[], object] | None = None,
        on_text: Callable[[TextUpdate], object] | None = None,
    ) -> None:
        self.session_id = session_id
        self.user_id = user_id
        self.seq = 0
        self.is_full = False
        self.reason = ""
        self._end: EndUpdate | None = None
        # A reader may leave after the process has closed its hub. `live()` would then start another hub.
        self._hub = live().hub
        self._restarts_text = restarts_text
        self._on_wake = on_wake
        self._on_full = on_full
        self._on_text = on_text
        self._phase = Phase.GREETING
        self._must_greet = False
        self._buffer: list[EventUpdate | TextUpdate | NoticeUpdate] = []
        self._draining: list[EventUpdate | TextUpdate | NoticeUpdate] = []  # Buffered before the gap.
        self._buffered_characters = 0  # Of both lists.
        self._after = after  # The reader claims to have the events up to here.
        self._buffered_seq = 0  # Last event that is buffered or taken.
        self._log_position = 0
        self._rows: list[tuple[int, str]] = []
        self._text_ends: dict[StreamKey, tuple[int, int]] = {}  # In characters and in UTF-16 code units.
        self._read_events: dict[str, None] = {}  # Ids of events read from PostgreSQL: their text is over.
        self._known_work = KnownWork()
        self._wake = asyncio.Event()

    def __aiter__(self) -> "SessionFeed":
        return self

    async def __anext__(self) -> Update:
        """Return the next update. Raise StopAsyncIteration after the `EndUpdate`."""
        update = await self.take()
        while update is None:
            if self.has_ended:
                raise StopAsyncIteration
            await self.wait()
            update = await self.take()
        return update

    async def take(self) -> Update | None:
        """Return the next update; None when there is no update yet, and after the end."""
        while True:
            update: Update | None = None
            match self._phase:
                case Phase.GREETING:
                    update = await self._greet()
                case Phase.EVENTS:
                    update = await self._next_event()
                case Phase.TEXT:
                    update = self._next_piece()
                case Phase.LIVE if self._buffer:
                    update = self._take_from(self._buffer)
                case Phase.DRAINING if self._draining:
                    update = self._take_from(self._draining)
                case Phase.DRAINING:
                    self._phase = Phase.GREETING if self._must_greet else Phase.EVENTS
                case Phase.ENDED:
                    end = self._end
                    self._end = None
                    return end
                case _:
                    return None
            if update is not None and not self.has_ended:
                return update

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until `take` may return an update, up to `seconds`; return False when the time is over."""
        if self._phase is not Phase.LIVE or self._buffer:
            return True
        self._wake.clear()
        if seconds is not None:
            return await wait_until_set(self._wake, seconds)
        return await self._wake.wait()

    @property
    def has_ended(self) -> bool:
        """Return True after `end`, or when the session was deleted."""
        return self._phase is Phase.ENDED

    def greet(self, after: int = 0) -> None:
        """Return the status of the session again from `take`, to a reader with the events up to `after`."""
        self._after = max(self._after, after)
        self._note_gap(greets=True)

    def begin(self) -> None:
        """Begin without the status: the reader has just created the session."""
        self._hub.watch(self.session_id, self)
        self._phase = Phase.TEXT
        self._notify()

    def end(self, reason: EndReason) -> None:
        """End the feed. Buffered updates are dropped: the reader may no longer be allowed to see them."""
        if self.has_ended:
            return
        self.leave()
        self.reason = reason
        self._end = EndUpdate(reason)
        self._notify()

    def leave(self) -> None:
        """Stop watching the session. Idempotent."""
        self._phase = Phase.ENDED
        self._hub.unwatch(self.session_id, self)
        self._buffer.clear()
        self._draining.clear()
        self._rows.clear()

    # Watcher

    def on_event(self, update: EventUpdate) -> None:
        """Buffer the event if it is next in the log; otherwise note a gap."""
        if self._phase is not Phase.LIVE or update.seq != self._buffered_seq + 1:
            self.on_log_position(update.seq)
        elif self._put(update):
            self._buffered_seq = update.seq

    def on_log_position(self, seq: int) -> None:
        """Have the events up to `seq` read from PostgreSQL."""
        self._log_position = max(self._log_position, seq)
        if self._buffered_seq < self._log_position:
            self._note_gap()

    def on_text(self, update: TextUpdate) -> None:
        """Buffer the piece if it continues the reader's text."""
        chunk = update.chunk
        if self._phase is not Phase.LIVE or chunk.stream.event_id in self._read_events:
            return
        _, known = self._text_ends.get(chunk.stream, (0, 0))
        if chunk.offset > known:
            self._note_gap()
            return
        if chunk.offset < known and not self._restarts_text:  # Another process has sent the text again.
            unseen = text_from(chunk.text, known - chunk.offset)
            if not unseen:
                return
            update = TextUpdate(
                update.text, TextChunk(chunk.stream, known, unseen), update.end, is_repeated=True
            )
        if self._on_text:
            self._on_text(update)
        if self._put(update):
            self._note_text(update)

    def on_notice(self, update: NoticeUpdate) -> None:
        self._known_work.note(update.notice)
        self._put(update)

    def on_status(self, session_status: SessionStatus) -> None:
        """Read missing events, and greet again when notices were lost: see `KnownWork.has_missed`."""
        self.on_log_position(session_status.last_seq)
        if self._known_work.has_missed(session_status):
            self._note_gap(greets=True)

    def on_deleted(self) -> None:
        """End the feed: the session was deleted."""
        self.end("deleted")

    # Buffer

    def _put(self, update: EventUpdate | TextUpdate | NoticeUpdate) -> bool:
        """Buffer an update; return False, and drop the update, when the buffer is full."""
        if self.is_full or self.has_ended:
            return False
        if self._buffered_characters > MAX_BUFFERED_CHARACTERS:
            self.is_full = True
            self._note_gap(greets=True)
            if self._on_full:
                self._on_full()
            return False
        self._buffer.append(update)
        self._buffered_characters += update.size
        self._notify()
        return True

    def _note_gap(self, *, greets: bool = False) -> None:
        self._must_greet = self._must_greet or greets
        if self._phase is Phase.LIVE:
            self._phase = Phase.DRAINING
            # Only notices are buffered from now on, which the reader gets after the events of the gap.
            self._draining = self._buffer
            self._buffer = []
        self._notify()

    def _notify(self) -> None:
        self._wake.set()
        if self._on_wake:
            self._on_wake()

    def _take_from(self, buffer: list[EventUpdate | TextUpdate | NoticeUpdate]) -> Update:
        update = buffer.pop(0)
        self._buffered_characters -= update.size
        if isinstance(update, EventUpdate):
            self.seq = update.seq
        return update

    # Reading

    async def _greet(self) -> Update | None:
        """Watch the session and return its status. The status replaces all earlier notices."""
        self._must_greet = self.is_full = False
        self._buffer.clear()
        self._buffered_characters = 0
        # Watch before the query: news that comes during the query is noted, and none falls in between.
        self._hub.watch(self.session_id, self)
        streaming = self._hub.streaming_invocations(self.session_id)
        session_status = await event_log.session_status(self.session_id, self.user_id)
        if self.has_ended:
            return None
        if session_status is None:
            self.end("deleted")
            return None
        self._hub.drop_ended_text(self.session_id, streaming, session_status)
        self._known_work.replace(session_status)
        # The reader gets these after the status, and the status may be older or newer.
        for update in self._buffer:
            if isinstance(update, NoticeUpdate):
                self._known_work.note(update.notice)
        # The reader may claim events that do not exist yet.
        self.seq = self._buffered_seq = max(self.seq, min(self._after, session_status.last_seq))
        self._log_position = max(self._log_position, session_status.last_seq)
        if self._restarts_text:
            self._text_ends.clear()
        self._phase = Phase.EVENTS
        return StatusUpdate(session_status)

    async def _next_event(self) -> EventUpdate | None:
        """Return the next stored event; None when the reader has all events, or the feed has ended."""
        if self.seq >= self._log_position and not self._rows:
            self._phase = Phase.TEXT
            return None
        if not self._rows:
            position = self._log_position
            rows = await event_log.events_after(self.session_id, self.seq, ROWS_AT_ONCE)
            if self.has_ended:
                return None
            if not rows:  # The hint came before its commit could be seen. The slow tick knows better.
                if self._log_position == position:
                    self._log_position = self.seq
                return None
            # In place: the timer below clears this very list.
            self._rows.extend(rows)
            asyncio.get_running_loop().call_later(KEEP_ROWS_SECONDS, self._rows.clear)
        seq, body = self._rows.pop(0)
        self.seq = self._buffered_seq = seq
        update = EventUpdate(seq, body)
        remember(self._read_events, update.event.id)
        self._known_work.note_read_event(seq, update.event.invocation_id)
        return update

    def _next_piece(self) -> TextUpdate | None:
        """Return the next missing piece of the growing texts; None when the reader has all pieces."""
        for stream, text in self._hub.growing_texts(self.session_id).items():
            characters, offset = self._text_ends.get(stream, (0, 0))
            if text.is_cut or offset >= text.pending_from or stream.event_id in self._read_events:
                continue
            chunk = text.piece(characters, offset, PIECE_CHARACTERS)
            update = TextUpdate(text, chunk, characters + len(chunk.text), is_repeated=True)
            self._note_text(update)
            return update
        # No await since the last look at texts and log: the hub's next news continues exactly what the reader has.
        if self._must_greet:
            self._phase = Phase.GREETING
        elif self.seq < self._log_position:
            self._phase = Phase.EVENTS
        else:
            self._phase = Phase.LIVE
        return None

    def _note_text(self, update: TextUpdate) -> None:
        chunk = update.chunk
        remember(self._text_ends, chunk.stream, (update.end, chunk.offset + utf16_length(chunk.text)))
