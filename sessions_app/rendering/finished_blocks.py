"""Rendering of the finished blocks of a growing Markdown text: the blocks that further text cannot change.

Each block is rendered once, so rendering a growing text costs no more than rendering it once at its end. The HTML may
differ from the HTML of the whole text where a link or a named footnote is defined later; the committed event's HTML
replaces it.
"""

from __future__ import annotations

from sessions_app.conf import conf
from sessions_app.rendering.event_html import takes_long
from sessions_app.rendering.markdown import render_markdown, start_of_open_block

MAX_PARSED_CHARACTERS = 16_384
MAX_PARSED_LINES = 500
"""Characters and lines to parse at a time. A longer block is not rendered until its text is complete."""
# Parsing an open block at each new line would take time that grows with the square of its length.
GROWTH_BEFORE_RETRY = 1.25
"""Growth of an open block after which it is parsed again."""


class FinishedBlocks:
    """Position up to which the blocks of a growing text have been rendered.

    Attributes:
        end: number of rendered characters of the text.
        has_given_up: True if the rest of the text has to wait until the text is complete.
    """

    def __init__(self) -> None:
        self.end = 0
        self._length_to_parse = 1
        self.has_given_up = False

    def render_next(self, text: str) -> str | None:
        """Return the HTML of the blocks that were finished since the last call, and move `end` behind them.

        Return None if no block was finished, or if the rest of the text takes too long to render.

        Args:
            text: the whole text so far.
        """
        unrendered = text[self.end : text.rfind("\n") + 1]
        if self.has_given_up or len(unrendered) < self._length_to_parse:
            return None
        parsed = _beginning(unrendered)
        finished = parsed[: start_of_open_block(parsed)]
        if not finished:
            self.has_given_up = len(parsed) < len(unrendered)
            self._length_to_parse = int(len(unrendered) * GROWTH_BEFORE_RETRY) + 1
            return None
        if takes_long(finished) or self.end + len(finished) > conf().markdown_limit:
            self.has_given_up = True
            return None
        self.end += len(finished)
        self._length_to_parse = 1
        return render_markdown(finished)


def _beginning(text: str) -> str:
    """Return the lines within the limits."""
    return "".join(text[:MAX_PARSED_CHARACTERS].splitlines(keepends=True)[:MAX_PARSED_LINES])
