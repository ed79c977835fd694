"""Drawing of a Markdown text that grows, from its first characters on.

    text   finished blocks        open block                        text that was not drawn yet
           rendered once          drawn again as it grows           appended by the page at the place in the open block

Further text cannot change a finished block, so it is rendered once and stays as it is. The open block is drawn again
when the text behind it has a mark of Markdown, not for plain words, and not for code. A block that becomes too long is
split. The HTML may differ from the HTML of the whole text where a link or a named footnote is defined later, and where
a block was split; the committed event's HTML replaces it.

Two limits bound the cost, both in characters to render. A text earns some with each character, so drawing takes time
that is linear in its length. And all texts of the process share a rate: the more texts grow, the less often each is
drawn.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.utils.safestring import SafeString

from sessions_app.conf import conf
from sessions_app.rendering.markdown.limits import split_at_limit
from sessions_app.rendering.markdown.open_block import FENCE, PLACE, Place
from sessions_app.rendering.markdown.render import (
    CODE_TO_COME,
    render_markdown,
    render_open_block,
    start_of_open_block,
)

MAX_CHARACTERS = 4_096
MAX_MARKS = 400
"""Characters and marks to render at once. A block with more is split."""
CHARACTERS_PER_DRAWING = 60
"""Cost of a drawing that does not depend on its length, in characters."""
EARNED_PER_CHARACTER = 8
EARNED_AT_FIRST = 2_000
CHARACTERS_PER_SECOND = 40_000
"""Shared rate, at which drawing takes about a tenth of the time of the event loop."""
MAX_LEAD_SECONDS = 0.1
"""Seconds by which a text may draw before its turn: the rate holds only if many texts draw at once."""
UNDRAWN_CHARACTERS = 56
"""Characters from a mark on that may stay undrawn within a line."""
NEW_LINE = re.compile(r"\n[^\S\n]*+\S")
MARK = re.compile(r"[*_`~\[\]|$<&\\]|://")
"""Mark by which text within a line may be more than words."""
ANY_MARK = re.compile(r"[\[<{|$#*_`~&!\\>\n-]|://")
MAY_END_A_BLOCK = re.compile(r"^[ \t>]*+(?:(?:`{3,}+|~{3,}+)[^\n]*+|\r)?+\n", re.MULTILINE)
"""A line without words, or the beginning or end of code."""
PARAGRAPH = re.compile(r"(?:\*\*|`)?[^\W\d_]")
"""Beginning of a line that can be nothing but text."""
LINE_START = re.compile(r"\n(?=\S)")
HEAD_OF_A_TABLE = re.compile(r"[^\n|]*+\|[^\n]*+\n[ \t|:]*+-[ \t|:-]*+\n")
EMPTY_PARAGRAPH = SafeString(f"<p>{PLACE}</p>")


class DrawingRate:
    """Turns of all growing texts of a process to draw, in the order in which they ask."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._next_turn = 0.0

    def reserve(self, characters: int) -> float:
        """Return the time from which on a text may draw so many characters."""
        turn = max(self._next_turn, self.clock())
        self._next_turn = turn + characters / CHARACTERS_PER_SECOND
        return turn


shared_rate = DrawingRate()


@dataclass(frozen=True)
class TextDrawing:
    """A growing text as it is drawn.

    Attributes:
        finished: the blocks that were finished since the last drawing.
        open: the beginning of the block behind them, as far as `open_html` shows it.
        open_html: HTML with `PLACE` where the text behind `open` belongs; without, that text is not shown yet.
    """

    finished: str
    finished_html: str
    open: str
    open_html: str


class GrowingMarkdown:
    """A growing text, as far as it is drawn.

    Attributes:
        length: number of characters of the text.
        rendered_characters: number of characters rendered so far, a measure of the cost.
    """

    def __init__(self, rate: DrawingRate = shared_rate) -> None:
        self.length = 0
        self.rendered_characters = 0
        self._rate = rate
        self._turn: float | None = None
        self._reserved = 0
        self._earned = EARNED_AT_FIRST
        self._open = ""
        self._head = ""  # of a table that was split
        self._drawn = 0  # characters of `_open` that the page shows as they are drawn
        self._place = Place.NOWHERE
        self._characters_left = conf().markdown_limit
        self._lines_left = conf().markdown_lines
        self._is_beyond_limit = False

    def add(self, text: str) -> TextDrawing | None:
        """Add text to the end; return the text as it is drawn now, or None if it is not drawn again."""
        self.length += len(text)
        if self._is_beyond_limit:
            return None
        self._open += text
        self._earned += EARNED_PER_CHARACTER * len(text)
        if not self._has_changed():
            return None
        source, beyond = split_at_limit(self._open, self._characters_left, self._lines_left)
        if self._place is not Place.CODE:
            source = _beginning(source)
        cost = len(source) + CHARACTERS_PER_DRAWING
        if self._turn is None:
            self._turn = self._rate.reserve(cost)
            self._reserved = cost
        if self._earned < cost or self._rate.clock() + MAX_LEAD_SECONDS < self._turn:
            return None
        self._rate.reserve(cost - self._reserved)  # for what was added while the text waited for its turn
        self._turn = None
        self._earned -= cost
        self.rendered_characters += cost
        is_last = len(source) + len(beyond) == len(self._open) and bool(beyond)
        return self._draw_last(source) if is_last else self._draw(source)

    def _has_changed(self) -> bool:
        """True if the page cannot simply append the new text at its place."""
        new = self._open[self._drawn :]
        if not new.strip():
            return False
        if self._place is Place.NOWHERE or len(self._open) > self._characters_left:
            return True
        if self._place is Place.CODE:
            mark = FENCE.search(self._open, self._open.rfind("\n", 0, self._drawn) + 1)
        else:
            # From the last drawn character, which may be half a mark, or from the start of a URL.
            start = self._drawn - 1
            word = self._open.rfind(" ", 0, self._drawn) + 1
            if self._open.find("://", word, self._drawn) >= 0:
                start = word
            mark = MARK.search(self._open, start)
            if NEW_LINE.search(new) or len(self._open) > MAX_CHARACTERS:
                return True
        if mark is None:
            self._drawn = len(self._open)
            return False
        return self._place is Place.CODE or len(self._open) - mark.start() >= UNDRAWN_CHARACTERS

    def _draw(self, source: str) -> TextDrawing:
        end = self._end_of_finished(source)
        is_split = not end and self._place is not Place.CODE and len(source) < len(self._open)
        if is_split and not FENCE.match(source.lstrip("\n")):
            end = len(source)
        html = self._render(source[:end])
        if is_split and (head := HEAD_OF_A_TABLE.match(source)):
            self._head = head[0]
        elif end and not is_split:
            self._head = ""
        finished = self._forget(end)
        shown = source[end:]
        open_html, self._place = render_open_block(self._head + shown)
        if not shown.strip():
            open_html = EMPTY_PARAGRAPH
        elif self._place is Place.TEXT:
            shown = shown.rstrip()
        self._drawn = len(shown)
        return TextDrawing(finished, html, shown, self._without_head(open_html))

    def _draw_last(self, source: str) -> TextDrawing:
        """Draw the text up to the limit on rendered texts. The rest is shown as it is, like in a complete text."""
        self._is_beyond_limit = True
        html = self._render(source)
        finished = self._forget(len(source))
        self._open = ""
        return TextDrawing(finished, html, "", CODE_TO_COME)

    def _end_of_finished(self, source: str) -> int:
        """Return the number of characters at the start of the text that further text cannot change."""
        # A carriage return alone ends a line, too.
        line = max(source.rfind("\n"), source.rfind("\r")) + 1
        # The kind of the last line is known only if it begins with words.
        lines = source if PARAGRAPH.match(source, line) else source[:line]
        is_cut = len(source) < len(self._open)
        if not is_cut and not MAY_END_A_BLOCK.search(lines, source.rfind("\n", 0, self._drawn) + 1):
            return 0
        return max(0, start_of_open_block(self._head + lines) - len(self._head))

    def _render(self, finished: str) -> str:
        if not finished.strip():
            return ""
        return self._without_head(render_markdown(self._head + finished))

    def _forget(self, characters: int) -> str:
        """Forget the beginning of the text, which is finished; return it."""
        finished = self._open[:characters]
        self._open = self._open[characters:]
        self._characters_left -= characters
        self._lines_left -= finished.count("\n")
        return finished

    def _without_head(self, html: str) -> str:
        if not self._head or "<thead>" not in html:
            return html
        before, _, rest = html.partition("<thead>")
        return before + rest.partition("</thead>")[2].removeprefix("\n")


def _beginning(text: str) -> str:
    """Return the text up to the limits, if possible whole lines up to a line that is not indented."""
    end = MAX_CHARACTERS
    for number, mark in enumerate(ANY_MARK.finditer(text, 0, end)):
        if number == MAX_MARKS:
            end = mark.start()
            break
    if len(text) <= end:
        return text
    starts = [match.end() for match in LINE_START.finditer(text, 0, end)]
    if starts:
        return text[: starts[-1]]
    return text[: text.rfind(" ", 0, end) + 1 or end]
