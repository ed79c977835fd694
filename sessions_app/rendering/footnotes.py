"""Footnotes in Markdown: marks `[^1]` in a text, and notes `[^1]: …` at the start of a line.

A note stays where it is written. The plugin of `mdit-py-plugins` collects the notes at the end of the text instead,
which a streamed text does not have yet, and links them by ids, which would repeat in every message of a page.
"""

import re
from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

MARK = re.compile(r"\[\^(\w{1,30})\]")
NOTE = re.compile(MARK.pattern + r":[ \t]*(?=\S)")
LABELS = "footnotes"


def show_footnotes(markdown: MarkdownIt) -> None:
    """Extend the parser: show marks of footnotes raised, and each note as a paragraph that begins with its mark."""
    markdown.block.ruler.before("reference", "footnote", _note, {"alt": ["paragraph", "reference"]})
    markdown.inline.ruler.before("link", "footnote_mark", _mark)
    markdown.add_render_rule("footnote_mark", _render_mark)


def _note(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    first = NOTE.match(state.src, state.bMarks[start] + state.tShift[start], state.eMarks[start])
    if not first or state.is_code_block(start):
        return False
    if silent:
        return True
    state.env.setdefault(LABELS, set()).add(first[1])
    state.line = next((line for line in range(start + 1, end) if _ends_note(state, line, end)), end)
    opening = state.push("paragraph_open", "p", 1)
    opening.attrSet("class", "footnote")
    opening.map = [start, state.line]
    inline = state.push("inline", "", 0)
    lines = state.getLines(start, state.line, state.blkIndent, False).strip()
    inline.content = lines.replace(f"{first[1]}]:", f"{first[1]}]", 1)
    inline.map = opening.map
    inline.children = []
    state.push("paragraph_close", "p", -1)
    return True


def _ends_note(state: StateBlock, line: int, end: int) -> bool:
    """True if the line is empty, less indented, or the beginning of another block."""
    if state.isEmpty(line) or state.sCount[line] < state.blkIndent:
        return True
    rules = state.md.block.ruler.getRules("paragraph")
    return any(rule(state, line, end, True) for rule in rules)


def _mark(state: StateInline, silent: bool) -> bool:
    """Parse a mark: a number, or the name of a note above it."""
    # `[^abc]` without a note may be something else, such as a regular expression.
    mark = MARK.match(state.src, state.pos, state.posMax)
    if not mark or not (mark[1].isdecimal() or mark[1] in state.env.get(LABELS, ())):
        return False
    if not silent:
        state.push("footnote_mark", "sup", 0).content = mark[1]
    state.pos = mark.end()
    return True


def _render_mark(
    renderer: RendererProtocol, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any
) -> str:
    return f"<sup>{escapeHtml(tokens[index].content)}</sup>"
