"""Limits on the Markdown to parse. Without them a text of a model could keep a process busy for seconds.

Nothing is lost: text beyond a limit is shown unparsed, as a code block. A paragraph with too many marks only loses its
links and emphasis.
"""

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from sessions_app.conf import conf
from sessions_app.rendering.markdown.citations import parse_inline

CELLS = "cells"
NESTING_MARGIN = 4
"""Margin of the parser's own limit on nesting above the site's limit.

The parser drops text beyond its own limit. With the margin `_too_deep` is asked first.
"""


def limit_markdown(markdown: MarkdownIt) -> None:
    """Extend the parser by the site's limits on nesting, table cells and marks."""
    markdown.block.ruler.before("table", "too_deep", _too_deep)
    markdown.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    markdown.core.ruler.at("inline", _inline)


def split_at_limit(text: str, length: int, lines: int) -> tuple[str, str]:
    """Split a text at these limits on its characters and lines, at the end of a line if possible."""
    end = len(text)
    if end > length:
        end = text.rfind("\n", 0, length) + 1 or length
    if text.count("\n", 0, end) > lines:
        end = sum(len(line) + 1 for line in text[:end].split("\n", lines)[:lines])
    return text[:end], text[end:]


def _inline(state: StateCore) -> None:
    """Parse paragraphs, headings and cells until their marks exceed the limit. The rest is plain text."""
    inline = state.md.inline
    left = conf().markdown_marks
    for token in state.tokens:
        if token.type != "inline":
            continue
        left -= len(inline.terminator_re.findall(token.content))
        if left >= 0:
            parse_inline(inline, state, token)
        else:
            token.children = [Token("text", "", 0, content=token.content)]


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
    """Parse a table if its cells fit in the remaining limit. After a table that does not fit, parse no other."""
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
    """Return the first line from `start` that is empty or less indented; `end` if there is none."""
    lines = range(start, end)
    return next((line for line in lines if state.isEmpty(line) or state.sCount[line] < state.blkIndent), end)


def _show_as_it_is(state: StateBlock, start: int, end: int) -> bool:
    token = state.push("code_block", "code", 0)
    token.content = state.getLines(start, end, state.blkIndent, True)
    token.map = [start, end]
    state.line = end
    return True
