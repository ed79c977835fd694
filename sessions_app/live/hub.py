"""Hub: passes news of sessions to the watchers in this process, and to the relay for other processes.

Committed events, notices and the first piece of a text go out immediately. Further text is gathered and flushed at the
end of a window, which is short while the process is idle and longer under load: the cost of streaming then depends on
the time, not on the number of model chunks.

The hub keeps each growing text until its event is committed, its invocation ends, or a newer lease replaces it. Readers
that connect in the middle of an answer, or have missed a piece, read the text from here.

All methods run on the hub's event loop and never wait, so no lock is needed and watchers see news in the order of the
calls.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Protocol
from uuid import UUID

from runtime.valid_text import storable
from sessions_app.conf import conf
from sessions_app.live.notices import InvocationNotice, Notice
from sessions_app.live.streamed_text import GrowingText, StreamKey, TextChunk
from sessions_app.live.updates import EventUpdate, NoticeUpdate, TextUpdate
from sessions_app.store.session_service import CommittedEvent
from sessions_app.store.sql.event_log import SessionStatus

logger = logging.getLogger(__name__)
SECONDS_PER_GROWING_SESSION = 0.001
"""Seconds of the window for each session with text. Bounds flushing to about 10% of the CPU: a chunk takes 0.1 ms."""


class Watcher(Protocol):
    """Receiver of a session's news: `SessionFeed`.

    The hub calls the methods on its event loop: they must not block. All watchers get the same objects.
    """

    def on_event(self, update: EventUpdate) -> None:
        """Take an event committed by this process: the next event, or a later event after a gap."""

    def on_log_position(self, seq: int) -> None:
        """Read the events up to `seq`, committed by another process."""

    def on_text(self, update: TextUpdate) -> None:
        """Take a piece of a growing text. Its offset does not fit when earlier pieces were lost."""

    def on_notice(self, update: NoticeUpdate) -> None:
        """Take a change of an invocation, a job, a scheduled task or a call."""

    def on_status(self, session_status: SessionStatus) -> None:
        """Compare with the session's status in PostgreSQL; called on the slow tick."""

    def on_deleted(self) -> None:
        """End: the session was deleted."""


class SessionRelay(Protocol):
    """Sender of a session's news to other processes; implemented by `Relay`."""

    def send_log_position(self, session_id: UUID, seq: int) -> None:
        """Report that the log has reached `seq`."""

    def send_text(self, session_id: UUID, chunk: TextChunk) -> None:
        """Send streamed text."""

    def send_notice(self, session_id: UUID, notice: Notice) -> None:
        """Send a change of an invocation, a job, a scheduled task or a call."""

    def follow(self, session_id: UUID) -> None:
        """Ask for the news of the session from now on, and for its text so far. A repeated call asks for the text."""

    def unfollow(self, session_id: UUID) -> None:
        """Ask for no more news of the session."""

    def is_followed(self, session_id: UUID) -> bool:
        """Return True if another process follows the session, or may follow it."""


class Hub:
    """Watchers and growing text of the sessions of an event loop.

    Attributes:
        on_notice: called with each notice of this process, whether or not its session has watchers.
        lateness: seconds by which the last flush began late, a measure of the load of the event loop.
    """

    def __init__(self, relay: SessionRelay) -> None:
        self._relay = relay
        self._watchers: dict[UUID, tuple[Watcher, ...]] = {}
        self._texts: defaultdict[UUID, dict[StreamKey, GrowingText]] = defaultdict(dict)
        self._unflushed: set[UUID] = set()
        self._window = conf().merge_seconds
        self._is_flush_scheduled = False
        self._flush_due = 0.0
        self.lateness = 0.0
        self._expecting: defaultdict[UUID, set[Callable[[], None]]] = defaultdict(set)
        self.on_notice: Callable[[UUID, Notice], None] | None = None

    def watch(self, session_id: UUID, watcher: Watcher) -> None:
        """Add a watcher. The watcher itself reads the text streamed so far: see `growing_texts`."""
        watchers = self.watchers(session_id)
        if not watchers:
            self._relay.follow(session_id)
        # A new tuple: a watcher may be added while a loop over the old tuple calls the others.
        if watcher not in watchers:
            self._watchers[session_id] = (*watchers, watcher)

    def unwatch(self, session_id: UUID, watcher: Watcher) -> None:
        """Remove a watcher. With the last watcher, drop the text of other processes."""
        remaining = tuple(other for other in self.watchers(session_id) if other is not watcher)
        if remaining:
            self._watchers[session_id] = remaining
        else:
            self._watchers.pop(session_id, None)
            # Unwatched sessions are not polled: we would never learn that a remote text has ended.
            self._drop_text_of_other_processes(session_id)
            self._unfollow_unused(session_id)

    def watched(self) -> list[UUID]:
        """Return the sessions with a watcher in this process."""
        return list(self._watchers)

    def expect(self, session_id: UUID, on_created: Callable[[], None]) -> None:
        """Call `on_created` once, at the first news of a session that does not exist yet. Idempotent."""
        # The news itself is not passed on: another person may create the session under this id.
        self._expecting[session_id].add(on_created)
        self._relay.follow(session_id)

    def stop_expecting(self, session_id: UUID, on_created: Callable[[], None]) -> None:
        """Undo `expect`. Idempotent."""
        callbacks = self._expecting.get(session_id, set())
        callbacks.discard(on_created)
        if not callbacks:
            self._expecting.pop(session_id, None)
            self._unfollow_unused(session_id)

    def _unfollow_unused(self, session_id: UUID) -> None:
        if session_id not in self._watchers and session_id not in self._expecting:
            self._relay.unfollow(session_id)

    def expected(self) -> list[UUID]:
        """Return the expected sessions of this process."""
        return list(self._expecting)

    def _note_existence(self, session_id: UUID) -> None:
        for on_created in self._expecting.pop(session_id, ()):
            on_created()

    def watchers(self, session_id: UUID) -> tuple[Watcher, ...]:
        """Return the session's watchers in this process."""
        return self._watchers.get(session_id, ())

    # News of this process

    def publish_event(self, committed: CommittedEvent, rewound_from: int | None) -> None:
        """Publish a committed event, which replaces its streamed text."""
        session_id = committed.session_id
        seq = committed.seq
        self._note_existence(session_id)
        # Before the watchers are called: a feed that reads the growing texts must not get the text after its event.
        self._keep_texts(session_id, lambda stream: stream.event_id != committed.event.id)
        self._relay.send_log_position(session_id, seq)
        update = EventUpdate(seq, committed.body, committed, rewound_from)
        for watcher in self.watchers(session_id):
            watcher.on_event(update)

    def publish_text(self, session_id: UUID, stream: StreamKey, text: str) -> None:
        """Publish text of a partial event: the first piece immediately, further pieces at the next flush.

        U+FFFD replaces characters that cannot be sent.
        """
        # Without text no flush measures the lateness; the old value would make the first execution pause.
        if not self._texts:
            self.lateness = 0.0
        texts = self._texts[session_id]
        growing = texts.get(stream)
        is_first = growing is None
        if growing is None:
            _drop_superseded(texts, stream)
            growing = texts[stream] = GrowingText(stream, is_local=True)
        growing.add(text if text.isascii() else storable(text))
        if is_first:
            self._send_pending(session_id, growing)
        else:
            self._unflushed.add(session_id)
        self._schedule_flush()  # After a first piece, too: a flush bounds the memory.

    def publish_notice(self, session_id: UUID, notice: Notice) -> None:
        """Publish a change of an invocation, a job, a scheduled task or a call."""
        self.receive_notice(session_id, notice)
        self._relay.send_notice(session_id, notice)
        if self.on_notice:
            self.on_notice(session_id, notice)

    def drop_text(self, session_id: UUID, invocation_id: str) -> None:
        """Drop the streamed text of an invocation that has ended; its events hold the text now."""
        self._keep_texts(session_id, lambda stream: stream.invocation_id != invocation_id)

    def texts(self, session_id: UUID) -> list[TextChunk]:
        """Return the session's streamed texts from their beginnings."""
        return [text.whole() for text in self._texts.get(session_id, {}).values()]

    def growing_texts(self, session_id: UUID) -> Mapping[StreamKey, GrowingText]:
        """Return the session's growing texts, without texts of committed events."""
        return self._texts.get(session_id, {})

    def streaming_invocations(self, session_id: UUID) -> set[str]:
        """Return the ids of the invocations with streamed text."""
        return {stream.invocation_id for stream in self._texts.get(session_id, {})}

    # News of other processes and of PostgreSQL

    def receive_follower(self, session_id: UUID) -> None:
        """Send the text of this process to the others, because a process has begun to follow the session."""
        for text in self._texts.get(session_id, {}).values():
            if text.is_local:
                self._relay.send_text(session_id, text.whole())

    def receive_log_position(self, session_id: UUID, seq: int) -> None:
        """Tell the watchers that the log has reached `seq`."""
        self._note_existence(session_id)
        for watcher in self.watchers(session_id):
            watcher.on_log_position(seq)

    def receive_text(self, session_id: UUID, chunk: TextChunk) -> None:
        """Show text streamed by another process. After a loss, ask for the whole text."""
        self._note_existence(session_id)
        if session_id not in self._watchers:  # The sender has not received the `unfollow` yet.
            self._drop_text_of_other_processes(session_id)
            return
        texts = self._texts[session_id]
        stream = chunk.stream
        if any(key.lease_token > stream.lease_token for key in texts):
            return  # The sender has lost its lease and has not noticed yet.
        if stream not in texts:
            _drop_superseded(texts, stream)
            texts[stream] = GrowingText(stream, is_local=False)
        if not texts[stream].receive(chunk):
            self._relay.follow(session_id)  # A repeated `follow` asks for the text from its beginning.
            return
        unseen = texts[stream].take_pending()
        if unseen:
            self._show_text(session_id, texts[stream], unseen)
        self._schedule_flush()  # A flush bounds the memory.

    def receive_notice(self, session_id: UUID, notice: Notice) -> None:
        """Show a notice to the watchers; the end of an invocation drops its streamed text."""
        self._note_existence(session_id)
        if isinstance(notice, InvocationNotice) and not notice.is_active:
            self.drop_text(session_id, notice.id)
        update = NoticeUpdate(notice)
        for watcher in self.watchers(session_id):
            watcher.on_notice(update)

    def receive_status(self, session_id: UUID, session_status: SessionStatus) -> None:
        """Give the watchers the session's status on the slow tick."""
        self._note_existence(session_id)
        # The `follow` may have been lost, so the streaming process does not know of the watchers here.
        if session_status.invocation and session_id not in self._texts:
            self._relay.follow(session_id)
        for watcher in self.watchers(session_id):
            watcher.on_status(session_status)

    def drop_ended_text(self, session_id: UUID, streaming: set[str], session_status: SessionStatus) -> None:
        """Drop text of ended invocations, and text under an older lease, whose process has lost the session.

        Args:
            streaming: result of `streaming_invocations` from before the query of the status.
        """
        # Not the invocations that stream now: some may have begun after the query, and the status lacks them.
        for invocation_id in streaming - session_status.active:
            self.drop_text(session_id, invocation_id)
        self._keep_texts(session_id, lambda stream: stream.lease_token >= session_status.lease_token)

    def receive_deletion(self, session_id: UUID) -> None:
        """Tell the watchers that the session was deleted."""
        for watcher in self.watchers(session_id):
            watcher.on_deleted()

    # Flushing

    def _schedule_flush(self) -> None:
        if not self._is_flush_scheduled:
            self._is_flush_scheduled = True
            loop = asyncio.get_running_loop()
            self._flush_due = loop.time() + self._window
            loop.call_at(self._flush_due, self._flush)

    def _flush(self) -> None:
        """Send the gathered text. The length of the next window depends on the number of sessions with text."""
        self._is_flush_scheduled = False
        self.lateness = asyncio.get_running_loop().time() - self._flush_due
        unflushed = self._unflushed
        self._unflushed = set()
        self._bound_memory()
        for session_id in unflushed:
            for text in self._texts.get(session_id, {}).values():
                self._send_pending(session_id, text)
        shortest, longest = conf().merge_seconds, conf().merge_seconds_under_load
        self._window = min(max(shortest, SECONDS_PER_GROWING_SESSION * len(unflushed)), longest)

    def _send_pending(self, session_id: UUID, text: GrowingText) -> None:
        chunk = text.take_pending()
        if chunk:
            self._show_text(session_id, text, chunk)
            if self._relay.is_followed(session_id):
                self._relay.send_text(session_id, chunk)

    def _bound_memory(self) -> None:
        """Cut the longest texts until the memory of all is within `streamed_bytes`."""
        texts: list[GrowingText] = []
        for of_session in self._texts.values():
            texts += of_session.values()
        excess = sum(text.bytes for text in texts) - conf().streamed_bytes
        if excess <= 0:
            return
        for text in sorted(texts, key=lambda text: text.bytes, reverse=True):
            if excess <= 0:
                return
            logger.warning(
                "The text of event %s is shown only when complete: all streamed texts together exceed %d bytes",
                text.stream.event_id,
                conf().streamed_bytes,
            )
            excess -= text.bytes
            text.cut()

    def _show_text(self, session_id: UUID, text: GrowingText, chunk: TextChunk) -> None:
        update = TextUpdate(text, chunk, text.published)
        for watcher in self.watchers(session_id):
            watcher.on_text(update)

    def _drop_text_of_other_processes(self, session_id: UUID) -> None:
        self._keep_texts(session_id, lambda stream: self._texts[session_id][stream].is_local)

    def _keep_texts(self, session_id: UUID, is_kept: Callable[[StreamKey], bool]) -> None:
        texts = self._texts.get(session_id)
        if texts is None:
            return
        for stream in [stream for stream in texts if not is_kept(stream)]:
            del texts[stream]
        if not texts:
            del self._texts[session_id]


def _drop_superseded(texts: dict[StreamKey, GrowingText], new: StreamKey) -> None:
    """Drop texts made void by a new stream: of an earlier event of its agent, and of an older lease."""
    # An agent streams a single event at a time: its earlier text is committed or lost.
    for stream in list(texts):
        is_earlier_event = stream.author == new.author and stream.event_id != new.event_id
        if is_earlier_event or stream.lease_token < new.lease_token:
            del texts[stream]
