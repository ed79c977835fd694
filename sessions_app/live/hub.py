"""Hub: brings news of sessions to those of this process who watch them, and to the relay for other processes.

Committed events and notices go out at once. Streamed text is gathered for a moment first: a short one when the
process is idle, a longer one under load, so that its cost does not grow with the number of pieces.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Protocol
from uuid import UUID

from sessions_app.conf import conf
from sessions_app.db.event_log import SessionStatus
from sessions_app.live.frames import EventNews, Notice, partial_frame
from sessions_app.live.streamed_text import GrowingText, StreamKey, TextChunk

SECONDS_PER_GROWING_SESSION = 0.0005
"""Sending a chunk takes some 0.1 ms: with five times that between two, a fifth of the process's time goes to it."""


class Watcher(Protocol):
    """Someone who watches a session in this process; none of these may block."""

    def event(self, news: EventNews) -> None:
        """An event was committed here."""

    def hint(self, seq: int) -> None:
        """The log has reached `seq`, says another process."""

    def chunk(self, frame: str) -> None:
        """Text has grown."""

    def notice(self, notice: Notice, frame: str) -> None:
        """An invocation or a job has changed; `frame` is the whole websocket message."""

    def session_status(self, session_status: SessionStatus) -> None:
        """What PostgreSQL says, on the slow tick."""

    def gone(self) -> None:
        """The session was deleted."""


class Outbox(Protocol):
    """Where news for other processes go."""

    def event(self, session_id: UUID, seq: int) -> None:
        """The log has reached `seq`."""

    def chunk(self, session_id: UUID, chunk: TextChunk) -> None:
        """Text has grown."""

    def notice(self, session_id: UUID, notice: Notice) -> None:
        """An invocation or a job has changed."""

    def want_text(self, session_id: UUID) -> None:
        """Someone here watches and lacks the text so far."""


class Hub:
    """One for each event loop of a process."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._watchers: defaultdict[UUID, set[Watcher]] = defaultdict(set)
        self._texts: defaultdict[UUID, dict[StreamKey, GrowingText]] = defaultdict(dict)
        self._grown: set[UUID] = set()
        self._window = conf().merge_seconds
        self._flush_is_due = False
        self._wanted: set[UUID] = set()

    def watch(self, session_id: UUID, watcher: Watcher) -> None:
        """Let the watcher know from now on; the text so far comes at once."""
        self._watchers[session_id].add(watcher)
        for text in self._texts.get(session_id, {}).values():
            watcher.chunk(partial_frame(text.whole()))

    def want_text(self, session_id: UUID) -> None:
        """Something runs in the session, maybe elsewhere: have its text brought here."""
        if session_id not in self._texts:
            self._outbox.want_text(session_id)

    def unwatch(self, session_id: UUID, watcher: Watcher) -> None:
        """The watcher has left. After the last one, nobody asks whether what other processes tell has ended."""
        self._watchers[session_id].discard(watcher)
        if not self._watchers[session_id]:
            del self._watchers[session_id]
            self._forget_text_of_others(session_id)

    def watched(self) -> list[UUID]:
        """The sessions that someone here watches."""
        return list(self._watchers)

    def watchers(self, session_id: UUID) -> Iterable[Watcher]:
        """Those who watch the session here."""
        return tuple(self._watchers.get(session_id, ()))

    # What happens in this process

    def publish_event(self, session_id: UUID, news: EventNews) -> None:
        """An event was committed by this process."""
        self._keep_texts(session_id, lambda stream: stream.event_id != news.event_id)
        for watcher in self.watchers(session_id):
            watcher.event(news)
        self._outbox.event(session_id, news.seq)

    def publish_text(self, session_id: UUID, stream: StreamKey, text: str) -> None:
        """A model has said a little more."""
        texts = self._texts[session_id]
        if stream not in texts:
            _make_void(texts, stream)
            texts[stream] = GrowingText(stream, is_from_here=True)
        texts[stream].add(text)
        self._grown.add(session_id)
        self._flush_later()

    def publish_notice(self, session_id: UUID, notice: Notice) -> None:
        """An invocation or a job of the session has changed."""
        self.show_notice(session_id, notice)
        self._outbox.notice(session_id, notice)

    def forget_text(self, session_id: UUID, invocation_id: str) -> None:
        """The invocation has ended: what it streamed is in events now."""
        self._keep_texts(session_id, lambda stream: stream.invocation_id != invocation_id)
        if session_id not in self._texts:
            self._wanted.discard(session_id)

    def texts(self, session_id: UUID) -> list[TextChunk]:
        """The text that grows in the session, whole."""
        return [text.whole() for text in self._texts.get(session_id, {}).values()]

    def speaking(self, session_id: UUID) -> set[str]:
        """The invocations whose text grows in the session."""
        return {stream.invocation_id for stream in self._texts.get(session_id, {})}

    # What other processes tell

    def text_is_wanted(self, session_id: UUID) -> None:
        """Another process watches: if the session's text grows here, send it what there is, and all that comes."""
        self._wanted.add(session_id)
        for text in self._texts.get(session_id, {}).values():
            if text.is_from_here:
                self._outbox.chunk(session_id, text.whole())

    def hint(self, session_id: UUID, seq: int) -> None:
        """The log has reached `seq`."""
        for watcher in self.watchers(session_id):
            watcher.hint(seq)

    def forget_void_text(self, session_id: UUID, session_status: SessionStatus) -> None:
        """Another process may have taken the session over, and may not have spoken yet."""
        self._keep_texts(session_id, lambda stream: stream.lease_token >= session_status.lease_token)

    def session_status(self, session_id: UUID, session_status: SessionStatus) -> None:
        """What PostgreSQL says, on the slow tick: what runs may be telling a text that nobody here was told of."""
        self.forget_void_text(session_id, session_status)
        if session_status.invocation:
            self.want_text(session_id)
        for watcher in self.watchers(session_id):
            watcher.session_status(session_status)

    def gone(self, session_id: UUID) -> None:
        """The session was deleted."""
        for watcher in self.watchers(session_id):
            watcher.gone()

    def receive_chunk(self, session_id: UUID, chunk: TextChunk) -> None:
        """Text of another process's invocation has grown. What is missing before it is asked for."""
        if session_id not in self._watchers:
            self._forget_text_of_others(session_id)
            return
        texts, stream = self._texts[session_id], chunk.stream
        if any(known.lease_token > stream.lease_token for known in texts):
            return  # it was taken over, and does not know yet
        if stream not in texts:
            _make_void(texts, stream)
            texts[stream] = GrowingText(stream, is_from_here=False)
        if not texts[stream].receive(chunk):
            self._outbox.want_text(session_id)
            return
        grown = texts[stream].take_pending()
        if grown:
            self._show(session_id, grown)

    def show_notice(self, session_id: UUID, notice: Notice) -> None:
        """Tell those who watch here."""
        if notice.ends_invocation:
            self.forget_text(session_id, notice.ends_invocation)
        watchers = self.watchers(session_id)
        if watchers:
            frame = notice.frame()
            for watcher in watchers:
                watcher.notice(notice, frame)

    # Merging

    def _flush_later(self) -> None:
        if not self._flush_is_due:
            self._flush_is_due = True
            asyncio.get_running_loop().call_later(self._window, self._flush)

    def _flush(self) -> None:
        """Send what has grown. The more sessions grow at once, the longer the next window."""
        self._flush_is_due = False
        grown, self._grown = self._grown, set()
        for session_id in grown:
            for text in self._texts.get(session_id, {}).values():
                chunk = text.take_pending()
                if chunk:
                    self._show(session_id, chunk)
                    if session_id in self._wanted:
                        self._outbox.chunk(session_id, chunk)
        shortest, longest = conf().merge_seconds, conf().merge_seconds_under_load
        self._window = min(max(shortest, SECONDS_PER_GROWING_SESSION * len(grown)), longest)

    def _show(self, session_id: UUID, chunk: TextChunk) -> None:
        watchers = self.watchers(session_id)
        if watchers:
            frame = partial_frame(chunk)
            for watcher in watchers:
                watcher.chunk(frame)

    def _forget_text_of_others(self, session_id: UUID) -> None:
        self._keep_texts(session_id, lambda stream: self._texts[session_id][stream].is_from_here)

    def _keep_texts(self, session_id: UUID, is_kept: Callable[[StreamKey], bool]) -> None:
        texts = self._texts.get(session_id)
        if texts is None:
            return
        for stream in [stream for stream in texts if not is_kept(stream)]:
            del texts[stream]
        if not texts:
            del self._texts[session_id]


def _make_void(texts: dict[StreamKey, GrowingText], begins: StreamKey) -> None:
    """An agent speaks one event at a time: what it said before is committed, or void. So is all of an older lease."""
    for stream in list(texts):
        is_of_author = stream.author == begins.author and stream.event_id != begins.event_id
        if is_of_author or stream.lease_token < begins.lease_token:
            del texts[stream]
