"""BrowserEncoder: frames for the pages of people who read alike."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.chat.server_frames import EventFrame, PartialFrame, notice_frame
from sessions_app.chat.streamed_blocks import next_blocks
from sessions_app.live.updates import EventUpdate, NoticeUpdate, TextUpdate
from sessions_app.rendering.event_html import html_now
from sessions_app.rendering.session_view import Reader, SessionView


@dataclass(frozen=True)
class BrowserEncoder:
    """Makes the frames for a reader, with the HTML of events, text and cards."""

    reader: Reader

    def event_frame(self, update: EventUpdate) -> str | None:
        """Return the frame of a committed event; None when its HTML takes long to make."""
        committed = update.committed
        assert committed is not None  # noqa: S101 - the hub publishes commits
        view = SessionView(committed.session_id, committed.app_name, self.reader)
        html = html_now(view, committed.seq, committed.event, committed.body)
        if html is None:
            return None
        return update.frame_of(
            self, EventFrame(committed.seq, committed.body, html, update.rewound_from).json
        )

    def notice_frame(self, update: NoticeUpdate) -> str:
        """Return the frame of a notice."""
        return update.frame_of(self, lambda: notice_frame(update.notice, self.reader))


def text_frame(update: TextUpdate) -> str:
    """Return the frame of a new piece of a growing text, with the blocks that have ended. All readers read it alike."""
    return update.frame_of(
        text_frame, lambda: PartialFrame.of_chunk(update.chunk, next_blocks(update.text, update.end)).json()
    )
