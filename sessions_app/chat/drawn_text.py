"""HTML of growing Markdown texts, made once for all tabs: see `rendering/markdown/growing.py`.

A frame has the blocks that were finished since the frame before, and the block that still grows. The page appends text
that arrives between two drawings to that block as plain text.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from sessions_app.live.streamed_text import GrowingText, utf16_length
from sessions_app.rendering.markdown.growing import GrowingMarkdown


@dataclass(frozen=True)
class DrawnText:
    """HTML of a growing text, or of its end. Positions are UTF-16 code units from the start of the event's text.

    Attributes:
        start: start of the finished blocks in `html`.
        end: their end.
        open_html: HTML of the block behind them, with a `<wbr>` where the text behind `open_end` belongs.
        open_end: end of what `open_html` shows.
    """

    start: int
    end: int
    html: str
    open_end: int
    open_html: str


class _Drawings:
    """A growing text with its HTML."""

    def __init__(self) -> None:
        self._markdown = GrowingMarkdown()
        self._finished: list[str] = []
        self._last = DrawnText(0, 0, "", 0, "")

    def all(self, text: GrowingText) -> DrawnText | None:
        """Return the whole text as it was drawn last; None if it was not drawn yet."""
        # Pieces that were not added yet have no readers who would miss this drawing.
        if text.published > self._markdown.length:
            self.draw(text)
        last = self._last
        if not last.open_end:
            return None
        return DrawnText(0, last.end, "".join(self._finished), last.open_end, last.open_html)

    def draw(self, text: GrowingText) -> DrawnText | None:
        """Draw the text; return what has changed, or None if nothing has."""
        drawing = self._markdown.add(text.published_after(self._markdown.length))
        if drawing is None:
            return None
        start = self._last.end
        end = start + utf16_length(drawing.finished)
        open_end = end + utf16_length(drawing.open)
        self._finished.append(drawing.finished_html)
        # The HTML counts towards the limit on streamed text in a process.
        text.html_length += len(drawing.finished_html) + len(drawing.open_html) - len(self._last.open_html)
        self._last = DrawnText(start, end, drawing.finished_html, open_end, drawing.open_html)
        return self._last


# Weak: the hub drops a text when its event is committed, and the HTML goes with it.
_drawings: WeakKeyDictionary[GrowingText, _Drawings] = WeakKeyDictionary()


def draw_next(text: GrowingText) -> DrawnText | None:
    """Return what the published text has changed; None if the page need only append it."""
    # The page shows thoughts folded: their HTML can wait for the event.
    if text.is_cut or text.stream.thought:
        _drawings.pop(text, None)
        return None
    return _drawings_of(text).draw(text)


def drawn_so_far(text: GrowingText) -> DrawnText | None:
    """Return the text as the other tabs have it; None if nothing of it is drawn."""
    if text.is_cut or text.stream.thought:
        return None
    return _drawings_of(text).all(text)


def _drawings_of(text: GrowingText) -> _Drawings:
    drawings = _drawings.get(text)
    if drawings is None:
        drawings = _Drawings()
        _drawings[text] = drawings
    return drawings
