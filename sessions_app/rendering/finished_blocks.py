"""Finished blocks of a growing Markdown text: the blocks that more text cannot change.

Each block is rendered once, so a growing text costs no more than the same text at its end. The HTML may differ from
that of the whole text in links and named footnotes that are defined later.
"""

from __future__ import annotations

from sessions_app.conf import conf
from sessions_app.rendering.event_html import takes_long
from sessions_app.rendering.markdown import render_markdown, start_of_open_block

MAX_PARSED_CHARACTERS = 16_384
MAX_PARSED_LINES = 500
"""Characters and lines that are parsed at once. A longer block is not rendered before its text is complete."""
GROWTH_BEFORE_RETRY = 1.25
"""An open block is parsed again when it has grown by a quarter. So a long block is not parsed for each new line."""


class FinishedBlocks:
    """Position up to which the blocks of a growing text have been rendered.

    Attributes:
        end: number of characters of the text that are rendered.
        has_given_up: True when the rest of the text is rendered only when it is complete.
    """

    def __init__(self) -> None:
        self.end = 0
        self._length_to_parse = 1
        self.has_given_up = False

    def render_next(self, text: str) -> str | None:
        """Return the HTML of the blocks that have ended since the last call, and move `end` behind them.

        Return None when no block has ended, or when the rest of the text takes too long to render.

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
