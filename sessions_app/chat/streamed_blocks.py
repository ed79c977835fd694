"""HTML of growing Markdown texts: each block that has ended is rendered once for all tabs."""

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
    """Blocks of one growing text that have ended, with their HTML.

    Thoughts are not rendered before their event is committed, because the page shows them folded.
    """

    def __init__(self) -> None:
        self._finished = FinishedBlocks()
        self._html: list[str] = []
        self._end = 0

    def all(self) -> RenderedBlocks | None:
        """Return the blocks that have been taken so far; None when there are none."""
        if not self._end:
            return None
        return RenderedBlocks(0, self._end, "".join(self._html))

    def render_next(self, text: GrowingText) -> RenderedBlocks | None:
        """Render the blocks that have ended since the last call; None when there are none."""
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
        text.html_length += len(html)
        return RenderedBlocks(start, self._end, html)


_blocks: WeakKeyDictionary[GrowingText, StreamedBlocks] = WeakKeyDictionary()


def next_blocks(text: GrowingText) -> RenderedBlocks | None:
    """Return the blocks that have ended since the last call; None when there are none."""
    if text.is_cut:
        _blocks.pop(text, None)
        return None
    return _blocks.setdefault(text, StreamedBlocks()).render_next(text)


def blocks_so_far(text: GrowingText) -> RenderedBlocks | None:
    """Return all blocks of the text that have ended; None when there are none."""
    if text.is_cut:
        return None
    blocks = _blocks.setdefault(text, StreamedBlocks())
    blocks.render_next(text)
    return blocks.all()
