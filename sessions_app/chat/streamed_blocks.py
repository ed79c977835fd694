"""HTML of growing Markdown texts.

A text is rendered block by block. Once a paragraph, list or table has ended, further text cannot change it, so its
HTML is made once and sent to all tabs. The block that still grows is shown as plain text by the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from sessions_app.live.streamed_text import GrowingText, utf16_length
from sessions_app.rendering.finished_blocks import FinishedBlocks


@dataclass(frozen=True)
class RenderedBlocks:
    """HTML of a piece of a growing text.

    Attributes:
        start: start of the piece, in UTF-16 code units from the start of the event's text.
        end: end of the piece.
    """

    start: int
    end: int
    html: str


class StreamedBlocks:
    """Finished blocks of one growing text, with their HTML."""

    def __init__(self) -> None:
        self._finished = FinishedBlocks()
        self._html: list[str] = []
        self._end = 0

    def all(self) -> RenderedBlocks | None:
        """Return all blocks rendered so far; None if there are none."""
        if not self._end:
            return None
        return RenderedBlocks(0, self._end, "".join(self._html))

    def render_next(self, text: GrowingText) -> RenderedBlocks | None:
        """Render the blocks that were finished since the last call; return None if there are none."""
        # The page shows thoughts folded: their HTML can wait for the event.
        if text.stream.thought or self._finished.has_given_up:
            return None
        before = self._finished.end
        whole = text.text()[: text.published]
        html = self._finished.render_next(whole)
        if html is None:
            return None
        start = self._end
        self._html.append(html)
        self._end += utf16_length(whole[before : self._finished.end])
        text.html_length += len(html)  # counts towards the limit on streamed text in a process
        return RenderedBlocks(start, self._end, html)


# Weak: the hub drops a text when its event is committed, and the HTML goes with it.
_blocks: WeakKeyDictionary[GrowingText, StreamedBlocks] = WeakKeyDictionary()


def next_blocks(text: GrowingText) -> RenderedBlocks | None:
    """Return the blocks that were finished since the last call; None if there are none."""
    if text.is_cut:
        _blocks.pop(text, None)
        return None
    return _blocks.setdefault(text, StreamedBlocks()).render_next(text)


def blocks_so_far(text: GrowingText) -> RenderedBlocks | None:
    """Return all finished blocks of the text; None if there are none."""
    if text.is_cut:
        return None
    blocks = _blocks.setdefault(text, StreamedBlocks())
    blocks.render_next(text)
    return blocks.all()
