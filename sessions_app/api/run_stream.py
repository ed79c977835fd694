"""RunStream: the news of a session, or of one of its runs, as server-sent events for one program."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol
from uuid import UUID

from sessions_app.history.invocation_events import last_event_of
from sessions_app.jobs.listing import open_and_recent_jobs
from sessions_app.live.hub import Encoder
from sessions_app.live.known_work import KnownWork
from sessions_app.live.notices import InvocationNotice, Notice, invocation_notice, job_notice
from sessions_app.live.process import live
from sessions_app.live.streamed_text import StreamKey, TextChunk, text_from, utf16_length
from sessions_app.models import Invocation
from sessions_app.process.threads import in_thread
from sessions_app.store.sql import event_log

MAX_QUEUED_CHARACTERS = 256 * 1024
"""Limit on the characters queued for a program that does not read. Later news is read from PostgreSQL and the hub."""
CATCH_UP_ROWS = 50
HEARTBEAT_SECONDS = 15.0
MAX_TEXTS = 100
"""Number of growing texts, and of committed events, that a stream remembers."""


class StreamEncoder(Encoder, Protocol):
    """Makes the frames of a stream as server-sent events. An empty frame is not sent."""

    @property
    def heartbeat(self) -> str:
        """The frame that is sent after each interval without another one."""

    def stored_event_frame(self, seq: int, body: str, values: dict[str, Any]) -> str:
        """Return the frame of a stored event; `values` is the parsed body."""

    def status_frame(self, session_status: event_log.SessionStatus) -> str:
        """Return the frame with the session's status, which begins a stream and follows a gap."""

    def end_frame(self, reason: str, run: InvocationNotice | None) -> str:
        """Return the last frame of a stream.

        Args:
            reason: `run_ended`, `signed_out` or `deleted`.
            run: status of the run that has ended; None for another reason.
        """


class RunStream:
    """Yields each event once and in order, with streamed text and notices between them. Watches the process's hub.

    A program that reads slowly gets the queued frames. The events after these come from PostgreSQL, and the text comes
    from the hub.

    Args:
        after: `seq` of the last event that the program has.
        run_id: id of the run with which the stream ends; empty for a stream that follows the session.

    Attributes:
        encoder: makes the frames.
        user_id: primary key of the session's person.
        reason: reason why the stream ended early: `signed_out` or `deleted`; empty otherwise.
    """

    def __init__(
        self, session_id: UUID, user_id: Any, encoder: StreamEncoder, *, after: int = 0, run_id: str = ""
    ) -> None:
        self.encoder = encoder
        self.user_id = user_id
        self._session_id, self._run_id = session_id, run_id
        self._hub = live().hub
        self._frames: deque[str] = deque()
        self._queued_characters = 0
        self._seq = self._log_position = after
        self._offsets: dict[StreamKey, int] = {}  # End of the text that the program has.
        self._read_events: dict[str, None] = {}  # Ids of events read from PostgreSQL: their text is dropped.
        self._is_behind = True  # Frames were dropped, or rows must be read.
        self._must_greet = True
        self._outcome: InvocationNotice | None = None  # The notice of the end of the run.
        self._known_work = KnownWork()
        self._has_ended = False
        self.reason = ""
        self._is_idle = True
        self._wake = asyncio.Event()
        self._heartbeat_timer: asyncio.TimerHandle | None = None

    async def frames(self) -> AsyncGenerator[str]:
        """Yield the frames until the stream ends."""
        self._keep_alive()
        try:
            while not self._has_ended:
                while self._frames:
                    frame = self._frames.popleft()
                    self._queued_characters -= len(frame)
                    yield frame
                if self._must_greet:
                    async for frame in self._greet():
                        yield frame
                elif self._is_behind:
                    async for frame in self._catch_up():
                        yield frame
                elif not self._has_ended:
                    self._wake.clear()
                    await self._wake.wait()
            if self.reason:
                yield self.encoder.end_frame(self.reason, None)
        finally:
            self.leave()

    def end(self, reason: str) -> None:
        """End the stream after a last frame. Queued frames are dropped, because the program may no longer read them."""
        self._has_ended, self.reason = True, reason
        self._frames.clear()
        self._hub.unwatch(self._session_id, self)
        self._wake.set()

    def leave(self) -> None:
        """Stop watching. The run goes on."""
        self._hub.unwatch(self._session_id, self)
        if self._heartbeat_timer is not None:
            self._heartbeat_timer.cancel()

    # Watcher

    def on_event(self, seq: int, frame: str) -> None:
        """Queue the event if it is the next one, else catch up from PostgreSQL."""
        if self._is_behind or seq != self._seq + 1:
            self.on_log_position(seq)
        elif self._post(frame):
            self._seq = seq
        else:
            self._log_position = max(self._log_position, seq)

    def on_log_position(self, seq: int) -> None:
        """Catch up from PostgreSQL to `seq` at least."""
        self._log_position = max(self._log_position, seq)
        if self._seq < self._log_position:
            self._fall_behind()

    def on_text(self, chunk: TextChunk, frame: str) -> None:
        """Queue streamed text if it continues the text that the program has, else catch up."""
        if self._is_behind or chunk.stream.event_id in self._read_events:
            return
        if chunk.offset != self._offsets.get(chunk.stream, 0):
            self._fall_behind()
        elif self._post(frame):
            self._note_text(chunk)

    def on_notice(self, notice: Notice, frame: str) -> None:
        """Queue a notice. After the notice of the run's end the stream reads the rest of the events."""
        self._known_work.note(notice)
        is_end = False
        if isinstance(notice, InvocationNotice) and notice.id == self._run_id and not notice.is_active:
            self._outcome, is_end = notice, True
        if is_end or (frame and (self._is_behind or not self._post(frame))):
            self._must_greet = True
            self._fall_behind()

    def on_status(self, session_status: event_log.SessionStatus) -> None:
        """Catch up, and greet again when notices were lost: see `KnownWork.has_missed`."""
        self.on_log_position(session_status.last_seq)
        if self._known_work.has_missed(session_status):
            self._must_greet = True
            self._fall_behind()

    def on_deleted(self) -> None:
        """End the stream: the session was deleted."""
        self.end("deleted")

    # Frames

    async def _greet(self) -> AsyncIterator[str]:
        """Yield the session's status, then the missing events and text, and watch the hub from now on.

        When the run has ended, end the stream instead of watching.
        """
        hub, session_id = self._hub, self._session_id
        self._must_greet, self._is_behind = False, True
        streaming = hub.streaming_invocations(session_id)
        session_status = await event_log.session_status(session_id, self.user_id)
        if session_status is None:
            self.end("deleted")
            return
        hub.drop_ended_text(session_id, streaming, session_status)
        self._known_work.replace(session_status)
        self._seq = min(self._seq, session_status.last_seq)
        run, last_seq = await self._find_end(session_status)
        if run is None:
            hub.watch(session_id, self)
        yield self.encoder.status_frame(session_status)
        if not self._run_id:
            for job in await open_and_recent_jobs(session_id):
                yield self.encoder.notice_frame(job_notice(job))
        self.on_log_position(last_seq)
        async for frame in self._catch_up():
            yield frame
        if run is not None:
            yield self.encoder.end_frame("run_ended", run)
            self._has_ended = True

    async def _catch_up(self) -> AsyncIterator[str]:
        """Yield the events up to the log's position, then the text that has grown since."""
        while self._seq < self._log_position:
            rows = await event_log.events_after(self._session_id, self._seq, CATCH_UP_ROWS)
            if not rows:
                break
            for seq, body in rows:
                values = json.loads(body)
                self._seq = seq
                _remember(self._read_events, values.get("id", ""), None)
                yield self.encoder.stored_event_frame(seq, body, values)
        self._is_behind = False
        for text in tuple(self._hub.growing_texts(self._session_id).values()):
            if unseen := self._unseen(text.whole()):
                self.on_text(unseen, self.encoder.text_frame(text, unseen))

    def _unseen(self, chunk: TextChunk) -> TextChunk | None:
        """Return the part of a whole text that the program does not have; None when it has all."""
        offset = self._offsets.get(chunk.stream, 0)
        text = text_from(chunk.text, offset)
        return TextChunk(chunk.stream, offset, text) if text else None

    async def _find_end(self, session_status: event_log.SessionStatus) -> tuple[InvocationNotice | None, int]:
        """Return the status of the run if it has ended, and the `seq` up to which the program needs events."""
        if not self._run_id or self._run_id in session_status.active:
            return None, session_status.last_seq
        if self._outcome is not None:
            return self._outcome, session_status.last_seq
        rows = Invocation.objects.without_details().defer("message")
        row = await in_thread(rows.get, invocation_id=self._run_id)
        end = invocation_notice(row.invocation_id, row.client_id, row.status, row.error_message)
        return end, await last_event_of(row)

    def _note_text(self, chunk: TextChunk) -> None:
        _remember(self._offsets, chunk.stream, chunk.offset + utf16_length(chunk.text))

    def _post(self, frame: str) -> bool:
        """Queue a frame; return False, and drop the frame, when the program is too far behind."""
        if self._queued_characters > MAX_QUEUED_CHARACTERS:
            self._fall_behind()
            return False
        if frame:
            self._is_idle = False
            self._frames.append(frame)
            self._queued_characters += len(frame)
            self._wake.set()
        return True

    def _fall_behind(self) -> None:
        self._is_behind = True
        self._wake.set()

    def _keep_alive(self) -> None:
        """Queue a heartbeat after each interval in which nothing was sent."""
        if self._is_idle and self._heartbeat_timer is not None and not self._frames:
            self._post(self.encoder.heartbeat)
        self._is_idle = True
        self._heartbeat_timer = asyncio.get_running_loop().call_later(HEARTBEAT_SECONDS, self._keep_alive)


def _remember(known: dict[Any, Any], key: Any, value: Any) -> None:
    known[key] = value
    if len(known) > MAX_TEXTS:
        del known[next(iter(known))]
