"""Limits on the text that is parsed as Markdown. Text beyond a limit is shown as it is; nothing is lost.

Beyond most limits the text becomes a code block. A paragraph with too many marks loses only its links and emphasis.
"""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from sessions_app.conf import conf

CELLS = "cells"
NESTING_MARGIN = 4
"""Levels that the parser may open beyond the site's limit before it asks `_too_deep`.

The parser drops text above its own limit, which is higher by this margin.
"""


def limit_markdown(markdown: MarkdownIt) -> None:
    """Make the parser obey the site's limits of nesting, table cells and marks."""
    markdown.block.ruler.before("table", "too_deep", _too_deep)
    markdown.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    markdown.core.ruler.at("inline", _inline)


def split_at_limit(text: str) -> tuple[str, str]:
    """Return the text up to the limits of length and lines, cut at the end of a line if possible, and the rest."""
    length, lines = conf().markdown_limit, conf().markdown_lines
    end = len(text)
    if end > length:
        end = text.rfind("\n", 0, length) + 1 or length
    if text.count("\n", 0, end) > lines:
        end = sum(len(line) + 1 for line in text[:end].split("\n", lines)[:lines])
    return text[:end], text[end:]


def _inline(state: StateCore) -> None:
    """Parse paragraphs, headings and cells until their marks exceed the limit; the rest is plain text."""
    inline = state.md.inline
    left = conf().markdown_marks
    for token in state.tokens:
        if token.type != "inline":
            continue
        left -= len(inline.terminator_re.findall(token.content))
        token.children = [] if left >= 0 else [Token("text", "", 0, content=token.content)]
        if left >= 0:
            inline.parse(token.content, state.md, state.env, token.children)


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    nesting = conf().markdown_nesting
    state.md.options["maxNesting"] = nesting + NESTING_MARGIN
    if state.level < nesting:
        return False
    last = start + 1
    while last < end and (state.isEmpty(last) or state.sCount[last] >= state.blkIndent):
        last += 1
    return _show_as_it_is(state, start, last)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table if its cells fit in the rest of the limit. After a table that does not fit, parse no other."""
    left = state.env.get(CELLS, conf().markdown_cells)
    if left <= 0 or not table(state, start, end, True):
        return False
    if silent:
        return True
    columns = state.src[state.bMarks[start + 1] : state.eMarks[start + 1]].count("|") + 1
    last = _end_of_lines(state, start, min(end, start + left // columns + 1))
    state.env[CELLS] = left - (last - start) * columns
    if state.env[CELLS] >= 0:
        return table(state, start, end, False)
    return _show_as_it_is(state, start, _end_of_lines(state, last, end))


def _end_of_lines(state: StateBlock, start: int, end: int) -> int:
    """Return the number of the first line from `start` that is empty or less indented; `end` when there is none."""
    lines = range(start, end)
    return next((line for line in lines if state.isEmpty(line) or state.sCount[line] < state.blkIndent), end)


def _show_as_it_is(state: StateBlock, start: int, end: int) -> bool:
    token = state.push("code_block", "code", 0)
    token.content = state.getLines(start, end, state.blkIndent, True)
    token.map = [start, end]
    state.line = end
    return True
