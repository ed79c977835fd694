"""Markdown of a block that still grows, drawn as what it is going to be.

Emphasis, code, links and the head of a table are closed provisionally. Marks that may yet become anything, such as the
`-` of an item without words, are left out. `<wbr>` in the HTML marks the place where the following text goes.
"""

import re
from collections.abc import Sequence
from enum import Enum
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from sessions_app.rendering.markdown.mathematics import DELIMITERS, SIGNS

PLACE = "<wbr>"
"""Mark of the place. Texts cannot contain it, because their HTML is escaped."""
OPEN = "is open"
LEAF = "leaf that grows"
LEAVES = {"inline", "fence", "code_block", "formula", "hr"}
LONGEST_GUESS = 200
"""Characters after which a mark without its counterpart is taken for text."""
MARKS_OF_A_LINE = re.compile(
    r"(?:\A|(?<=\n))[ \t>]*+(?:[-*+_=~`#]++|\d{1,9}+[.)]?+)?+[ \t]*+(?:\[[ xX]?+\]?+)?+[ \t]*+\Z"
)
"""A last line without words: what it begins is not known yet."""
TABLE_HEAD = re.compile(r"(?:\A|(?<=\n))(\|(?:[^\S\n]|\|)*+[^\s|][^\n]*+)(\n[|:\- ]*+)?+\Z")
"""A last line that looks like the head of a table, with the beginning of the line below it."""
FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)
BAR = re.compile(r"(?<!\\)\|")
BACKTICKS = re.compile("`+")
OPEN_CODE = re.compile(rf"(`++)([^\n]{{1,{LONGEST_GUESS}}})\Z")
OPEN_LINK = re.compile(rf"\[([^\[\]\n]{{1,{LONGEST_GUESS}}})\]\([^()\s]{{0,{2 * LONGEST_GUESS}}}\Z")
OPEN_FORMULA = re.compile(r"\$\$|\\\[|\\\(|\$(?=[^\s\d$])")
EMPHASIS = {ord(mark) for mark in "*_~"}


class Place(Enum):
    """Place of further text until the block is drawn again.

    NOWHERE: it may become anything, and is not shown. TEXT: at the mark. CODE: at the mark, where no character but
    those that end the code has a meaning.
    """

    NOWHERE = "nowhere"
    TEXT = "text"
    CODE = "code"


def draw_open_ends(markdown: MarkdownIt) -> None:
    """Extend the parser: with `OPEN` in its environment, it treats the text as unfinished."""
    markdown.core.ruler.before("inline", "growing_leaf", _find_leaf)
    markdown.inline.ruler.after("formula", "open_formula", _parse_formula)
    markdown.inline.ruler.before("backticks", "open_code", _parse_code)
    markdown.inline.ruler.after("link", "open_link", _parse_link)
    markdown.inline.ruler2.after("balance_pairs", "open_emphasis", _close_emphasis)
    # Static: a rule would be bound to the renderer, and none needs it.
    markdown.add_render_rule("place", staticmethod(_render_place))
    markdown.add_render_rule("open_code", staticmethod(_render_code))
    markdown.add_render_rule("no_place", staticmethod(_render_nothing))


def completed(text: str) -> tuple[str, bool]:
    """Return the text to parse, and False if text that follows has no place in it."""
    head = TABLE_HEAD.search(text)
    if head and not _is_within_a_block(text[: head.start()]):
        cells = head[1].strip().strip("|")
        line = "|" + "-|" * (len(BAR.findall(cells)) + 1)
        return f"{text[: head.end(1)]}\n{line}", head[2] is None and not head[1].rstrip().endswith("|")
    marks = MARKS_OF_A_LINE.search(text)
    if marks and marks[0]:
        return text[: marks.start()], False
    return text, True


def place_in(env: dict[str, Any], html: str) -> Place:
    """Return the place where the text parsed with this environment continues."""
    if PLACE not in html:
        return Place.NOWHERE
    leaf = env[LEAF]
    if leaf.type == "fence" and leaf.level == 0:
        return Place.CODE
    return Place.TEXT


def _is_within_a_block(above: str) -> bool:
    """True if the lines above end with the row of a table, or within code."""
    line_above = above.removesuffix("\n").rpartition("\n")[2]
    return line_above.startswith("|") or len(FENCE.findall(above)) % 2 == 1


def _find_leaf(state: StateCore) -> None:
    if OPEN not in state.env:
        return
    index = next((i for i in reversed(range(len(state.tokens))) if state.tokens[i].type in LEAVES), None)
    leaf = None if index is None else state.tokens[index]
    if index is not None and state.tokens[index - 1].type in ("td_open", "th_open"):
        leaf = _growing_cell(state, index)
    elif leaf and leaf.type == "fence":
        leaf = _growing_fence(state, leaf)
    elif leaf and leaf.type != "inline":
        leaf = None
    state.env[LEAF] = leaf


def _growing_cell(state: StateCore, last: int) -> Token | None:
    """Return the cell of the last row that the last line has reached; None if the next cell is not begun."""
    row = next(i for i in reversed(range(last)) if state.tokens[i].type == "tr_open")
    cells = [token for token in state.tokens[row : last + 1] if token.type == "inline"]
    line = state.src.rpartition("\n")[2].strip()
    number = len(BAR.findall(line.removeprefix("|")))
    if cells and state.tokens[last - 1].type == "th_open":
        return cells[-1]
    return cells[number] if number < len(cells) else None


def _growing_fence(state: StateCore, fence: Token) -> Token | None:
    """Return the fence if its code continues; None if it is closed, or its first line is not complete."""
    first, end = fence.map or (0, 0)
    lines = state.src.split("\n", end)
    if end - first == 1:
        if state.src.endswith("\n"):
            return fence
        fence.info = ""  # the name of the language may be half a name
        return None
    return None if is_end_of_fence(lines[end - 1], fence.markup) else fence


def is_end_of_fence(line: str, markup: str) -> bool:
    """True if the line closes the code block that the markup has opened."""
    marks = line.strip(" \t>")
    return marks.startswith(markup) and not marks.strip(markup[0])


def _is_growing(state: StateInline) -> bool:
    leaf = state.env.get(LEAF)
    return leaf is not None and state.tokens is leaf.children and state.posMax == len(state.src)


def _parse_code(state: StateInline, silent: bool) -> bool:
    """Parse code without its end."""
    if silent or not _is_growing(state):
        return False
    match = OPEN_CODE.match(state.src, state.pos)
    if not match or match[1] in BACKTICKS.findall(match[2]):
        return False
    state.push("open_code", "code", 0).content = match[2].rstrip("`")
    state.pos = state.posMax
    return True


def _parse_link(state: StateInline, silent: bool) -> bool:
    """Parse a link without the end of its address, which is not shown."""
    if silent or not _is_growing(state):
        return False
    match = OPEN_LINK.match(state.src, state.pos)
    if not match:
        return False
    end = state.posMax
    state.push("link_open", "a", 1).attrs = {"href": ""}
    state.pos, state.posMax = match.span(1)
    state.linkLevel += 1
    state.md.inline.tokenize(state)
    state.linkLevel -= 1
    state.push("link_close", "a", -1)
    state.push("no_place", "", 0)
    state.pos = state.posMax = end
    return True


def _parse_formula(state: StateInline, silent: bool) -> bool:
    """Parse a formula without its end as an ellipsis: half a formula cannot be set."""
    if silent or not _is_growing(state):
        return False
    match = OPEN_FORMULA.match(state.src, state.pos)
    if not match:
        return False
    mark = match[0]
    content = state.src[match.end() :]
    is_line = mark == "$"
    longest = LONGEST_GUESS if is_line else 5 * LONGEST_GUESS
    if DELIMITERS[mark] in content or len(content) > longest or (is_line and "\n" in content):
        return False
    if mark in ("$", r"\[") and content and not SIGNS.search(content):
        return False
    state.push("text", "", 0).content = "…"
    state.push("no_place", "", 0)
    state.pos = state.posMax
    return True


def _close_emphasis(state: StateInline) -> None:
    """Mark the place of the following text, and close the emphasis around it."""
    if not _is_growing(state):
        return
    if not state.tokens or state.tokens[-1].type not in ("open_code", "no_place"):
        state.push("place", "", 0)
    openers = [mark for mark in state.delimiters if _is_open(mark)]
    for opener in reversed(openers):
        state.push("text", "", 0)
        opener.end = len(state.delimiters)
        closer = Delimiter(
            opener.marker, opener.length, len(state.tokens) - 1, end=-1, open=False, close=True
        )
        state.delimiters.append(closer)


def _is_open(mark: Delimiter) -> bool:
    """True for a mark that begins emphasis and has no counterpart yet."""
    is_within_a_word = mark.close and mark.length == 1
    return mark.marker in EMPHASIS and mark.open and mark.end < 0 and not is_within_a_word


def _render_place(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    return PLACE


def _render_code(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    return f"<code>{escapeHtml(tokens[index].content)}{PLACE}</code>"


def _render_nothing(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    return ""
