"""Markup that models write in addition to CommonMark: alerts, footnotes and some HTML tags.

    > [!NOTE]         an alert, as GitHub has them: a quotation that begins with `[!NOTE]` or the mark of another kind
    [^1]  [^1]: …     a footnote: the mark in a text, and the note at the start of a line
    <br> <sub> <sup>  tags where Markdown has no mark. Other tags are shown as text, and so are attributes and a tag
                      without its counterpart

A note stays where it is written. The plugin of `mdit-py-plugins` collects the notes at the end of the text instead,
which a streamed text does not have yet, and links them by ids, which would repeat in every message of a page.
"""

import re
from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext_lazy
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

TITLES = {
    "note": gettext_lazy("Note"),
    "tip": gettext_lazy("Tip"),
    "important": gettext_lazy("Important"),
    "warning": gettext_lazy("Warning"),
    "caution": gettext_lazy("Caution"),
}
"""The kinds of alerts, which are also their CSS classes, and what a reader sees and hears first."""
ALERT = re.compile(rf"\[!({'|'.join(TITLES)})\](?:\s+|\Z)", re.IGNORECASE)


def show_alerts(markdown: MarkdownIt) -> None:
    """Extend the parser: a quotation that begins with a mark is a note with a title, without the mark."""
    markdown.core.ruler.before("inline", "alerts", _show_alerts)


def _show_alerts(state: StateCore) -> None:
    tokens: list[Token] = []
    are_alerts: list[bool] = []
    for index, token in enumerate(state.tokens):
        tokens.append(token)
        if token.type == "blockquote_open":
            first = state.tokens[index + 1 : index + 3]
            mark = _mark_of(first)
            are_alerts.append(mark is not None)
            if mark:
                token.tag = "div"
                token.attrs = {"class": f"alert {mark[1].lower()}", "role": "note"}
                tokens.extend(_title(mark, *first))
        elif token.type == "blockquote_close" and are_alerts.pop():
            token.tag = "div"
    state.tokens = tokens


def _title(mark: re.Match[str], paragraph: Token, inline: Token) -> list[Token]:
    """Return the tokens of a title before the first paragraph, or make that the title if it has only the mark."""
    words = str(TITLES[mark[1].lower()])
    text = mark.string[mark.end() :]
    inline.content = text or words
    if not text:
        paragraph.attrSet("class", "alert-title")
        return []
    opening = Token("paragraph_open", "p", 1, attrs={"class": "alert-title"}, block=True)
    title = Token("inline", "", 0, content=words, children=[])
    return [opening, title, Token("paragraph_close", "p", -1, block=True)]


def _mark_of(tokens: list[Token]) -> re.Match[str] | None:
    """Return the mark at the beginning of a quotation with these first tokens; None without a mark."""
    if len(tokens) < 2 or tokens[0].type != "paragraph_open":
        return None
    return ALERT.match(tokens[1].content)


FOOTNOTE_MARK = re.compile(r"\[\^(\w{1,30})\]")
NOTE = re.compile(FOOTNOTE_MARK.pattern + r":[ \t]*(?=\S)")
LABELS = "footnotes"


def show_footnotes(markdown: MarkdownIt) -> None:
    """Extend the parser: show marks of footnotes raised, and each note as a paragraph that begins with its mark."""
    markdown.block.ruler.before("reference", "footnote", _note, {"alt": ["paragraph", "reference"]})
    markdown.inline.ruler.before("link", "footnote_mark", _mark)
    # Static: a rule would be bound to the renderer, and none needs it.
    markdown.add_render_rule("footnote_mark", staticmethod(_render_mark))


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
    mark = FOOTNOTE_MARK.match(state.src, state.pos, state.posMax)
    if not mark or not (mark[1].isdecimal() or mark[1] in state.env.get(LABELS, ())):
        return False
    if not silent:
        state.push("footnote_mark", "sup", 0).content = mark[1]
    state.pos = mark.end()
    return True


def _render_mark(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    return f"<sup>{escapeHtml(tokens[index].content)}</sup>"


BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
# Bounded: each of thousands of opening tags would search the rest of the text.
RAISED = re.compile(r"<(su[bp])>([^\n]{1,200}?)</\1>", re.IGNORECASE)


def show_inline_tags(markdown: MarkdownIt) -> None:
    """Extend the parser: break lines at `<br>`, and lower and raise the text within `<sub>` and `<sup>`."""
    markdown.inline.ruler.before("autolink", "break_tag", _parse_break)
    markdown.inline.ruler.before("autolink", "raised_text", _parse_raised)


def _parse_break(state: StateInline, silent: bool) -> bool:
    match = BREAK.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = match.end()
    return True


def _parse_raised(state: StateInline, silent: bool) -> bool:
    match = RAISED.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        tag = match[1].lower()
        end_of_text = state.posMax
        state.push(f"{tag}_open", tag, 1)
        state.pos, state.posMax = match.span(2)
        state.md.inline.tokenize(state)
        state.push(f"{tag}_close", tag, -1)
        state.posMax = end_of_text
    state.pos = match.end()
    return True
