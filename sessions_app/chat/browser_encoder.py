"""BrowserEncoder: frames for the pages of people who read alike."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.chat.server_frames import EventFrame, PartialFrame, notice_frame
from sessions_app.chat.streamed_blocks import next_blocks
from sessions_app.live.notices import Notice
from sessions_app.live.streamed_text import GrowingText, TextChunk
from sessions_app.rendering.event_html import html_now
from sessions_app.rendering.session_view import Reader, SessionView
from sessions_app.store.session_service import CommittedEvent


@dataclass(frozen=True)
class BrowserEncoder:
    """Makes the frames for a reader, with the HTML of events, text and cards."""

    reader: Reader

    def event_frame(self, committed: CommittedEvent, rewound_from: int | None) -> str | None:
        """Return the frame of an event; None when its HTML takes long to make."""
        view = SessionView(committed.session_id, committed.app_name, self.reader)
        html = html_now(view, committed.seq, committed.event, committed.body)
        return None if html is None else EventFrame(committed.seq, committed.body, html, rewound_from).json()

    def text_frame(self, text: GrowingText, chunk: TextChunk) -> str:
        """Return the frame of the newest piece of a growing text, with the blocks that have ended."""
        return PartialFrame.of_chunk(chunk, next_blocks(text, chunk)).json()

    def notice_frame(self, notice: Notice) -> str:
        """Return the frame of a notice."""
        return notice_frame(notice, self.reader)
