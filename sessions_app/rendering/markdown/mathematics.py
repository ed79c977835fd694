r"""Formulas in Markdown, shown as MathML: `$x^2$` and `\(x\)` within a line, `$$x$$` and `\[x\]` on separate lines.

A formula that cannot be converted, or is too long, is shown as code.

The plugins of `mdit-py-plugins` are not used. `dollarmath` takes "from $5 to 10$ each" and "$HOME/bin:$PATH" for
formulas. `texmath` takes time that grows with the square of the number of unclosed brackets, and drops "\[1\]".
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from html import unescape
from typing import Any
from xml.etree import ElementTree

from django.utils.translation import gettext
from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

MAX_FORMULA_LENGTH = 1_000
"""Maximum characters of a formula."""
MAX_TOTAL_LENGTH = 4_000
"""Maximum characters of all formulas of a text together."""
KEPT_FORMULAS = 128
"""Number of converted formulas to keep: an answer is rendered several times while it grows, and when it is complete."""
DELIMITERS = {"$$": "$$", "$": "$", r"\[": r"\]", r"\(": r"\)"}
ON_OWN_LINES = {"$$", r"\["}
SIGNS = re.compile(r"[\\^_=<>+{]")
"""Signs of a formula. Without any of them, `\\[` is usually an escaped bracket."""
LETTERS = "A-Za-z\u0391-\u03a9\u03b1-\u03c9"
"""Latin and Greek letters."""
TERMS = re.compile(
    rf"[{LETTERS}]|-?[{LETTERS}\d(\[|][{LETTERS}\d ()\[\]|,.:;!'/*-]*[{LETTERS}\d)\]|!']",
)
"""A text without signs that may be a formula: `O(n)`, `n!`, `2x`, `-x/2`."""
WORD = r"(?<![^\W\d_])[^\W\d_]{3,}+(?!\()"
WORDS = re.compile(rf"{WORD}|[\w)\]] +[\w(\[]")
"""A word, or two things with only a space between: `$` before them is a price or the name of a variable."""
AMOUNT = re.compile(rf"\d[\d.,]*+[^\\^{{]*?{WORD}")
"""A number, and a word that no command of a formula contains: "5 + tax"."""
END_OF_FORMULA = re.compile(r"(?:[^$\\]++|\\.)*+(?=\$)", re.DOTALL)
"""The text before the next dollar that is not escaped."""
ENDINGS = re.compile(r"(?:st|nd|rd|th|s|ten?)\b")
"""Endings of a word that begins with a formula: `$n$th`."""
EMPTY_LINE = re.compile(r"\n[ \t]*\n")
ENVIRONMENTS = re.compile(r"\\(begin|end){(?:aligned|alignedat|gathered|equation\*?)}")
"""Environments unknown to the converter, which are converted as aligned lines."""
TAGS = {
    *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mphantom"),
    *("msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd", "menclose"),
}
ATTRIBUTES = {
    "math": {"display"},
    "mo": {"stretchy", "fence", "form", "accent", "minsize", "maxsize"},
    "mover": {"accent"},
    "mfrac": {"linethickness"},
    "mspace": {"width"},
    "mtable": {"displaystyle"},
    "menclose": {"notation"},
}
_LEFT = "characters of formulas left"


def show_mathematics(markdown: MarkdownIt) -> None:
    """Extend the parser by formulas. Their HTML has to be sanitised, with `TAGS` and `ATTRIBUTES` allowed."""
    markdown.inline.ruler.before("escape", "formula", _parse_in_line)
    markdown.block.ruler.before(
        "fence", "formula", _parse_lines, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    # Static: a rule would be bound to the renderer, and none needs it.
    markdown.add_render_rule("formula", staticmethod(_formula))


def _parse_in_line(state: StateInline, silent: bool) -> bool:
    start = next((mark for mark in DELIMITERS if state.src.startswith(mark, state.pos)), None)
    if start is None:
        return False
    begin = state.pos + len(start)
    end = _end_of_formula(state, start, begin)
    if end < 0 or not _is_formula(start, state.src, begin, end):
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content = state.src[begin:end].strip()
        token.markup = start
    state.pos = end + len(start)
    return True


def _end_of_formula(state: StateInline, mark: str, begin: int) -> int:
    """Return the position of the mark that ends the formula; -1 if there is none."""
    # Bounded: a text may have thousands of opening marks without an end, and each would search the rest of the text.
    limit = min(begin + MAX_FORMULA_LENGTH + 2, state.posMax)
    if mark != "$":
        return state.src.find(DELIMITERS[mark], begin, limit)
    match = END_OF_FORMULA.match(state.src, begin, limit)
    return match.end() if match else -1


def _is_formula(mark: str, text: str, begin: int, end: int) -> bool:
    """True for a formula; False for a text that only looks like a formula, such as two prices in a sentence."""
    content = text[begin:end]
    if mark == "$":
        return _is_between_dollars(text, begin, end)
    if mark == r"\(":
        return bool(content.strip())
    if mark == r"\[":
        has_signs = SIGNS.search(content) is not None or (len(content) == 1 and content.isalpha())
        return has_signs and not text.startswith("(", end + len(mark))  # A link with escaped brackets.
    return _looks_like_formula(content)


def _is_between_dollars(text: str, begin: int, end: int) -> bool:
    content = text[begin:end]
    following = text[end + 1 : end + 2]
    if content != content.strip() or AMOUNT.match(content):
        return False
    if following.isascii() and following.isalnum() and not ENDINGS.match(text, end + 1):
        return False  # "from $5 to $10": the second mark begins a price.
    if SIGNS.search(content):
        return True
    # "5$/10$": the first mark ends a price.
    preceding = text[begin - 2 : begin - 1]
    return not (preceding.isascii() and preceding.isalnum()) and _looks_like_formula(content)


def _looks_like_formula(content: str) -> bool:
    if SIGNS.search(content) is not None:
        return True
    has_letter = any(character.isalpha() for character in content)
    return has_letter and TERMS.fullmatch(content) is not None and WORDS.search(content) is None


def _parse_lines(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a formula from the beginning of a line to the end of a line, without empty lines in between."""
    begin = state.bMarks[start] + state.tShift[start]
    mark = next((mark for mark in ON_OWN_LINES if state.src.startswith(mark, begin)), None)
    if mark is None or state.is_code_block(start):
        return False
    last = _last_line(state, start, mark)
    if last is None or last >= end:
        return False
    lines = range(start, last + 1)
    if any(state.isEmpty(line) or state.sCount[line] < state.blkIndent for line in lines):
        return False
    text = "\n".join(state.src[state.bMarks[line] : state.eMarks[line]].strip() for line in lines)
    content = text.removeprefix(mark).removesuffix(DELIMITERS[mark]).strip()
    if not _looks_like_formula(content):
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content = content
        token.markup = mark
        token.block = True
        token.map = [start, last + 1]
        state.line = last + 1
    return True


def _last_line(state: StateBlock, start: int, mark: str) -> int | None:
    """Return the line on which the formula ends; None if no line ends with its delimiter."""
    # One search over the text: most lines that begin like a formula have no end, and a walk over lines costs more.
    begin = state.bMarks[start] + state.tShift[start] + len(mark)
    end = state.src.find(DELIMITERS[mark], begin, begin + MAX_FORMULA_LENGTH + len(mark))
    content = state.src[begin:end]
    if end < 0 or mark in content or EMPTY_LINE.search(content):
        return None
    last = start + content.count("\n")
    if state.src[end + len(mark) : state.eMarks[last]].strip():
        return None
    return last


def _formula(tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    token = tokens[index]
    source = token.content
    env[_LEFT] = env.get(_LEFT, MAX_TOTAL_LENGTH) - len(source)
    html = None
    if env[_LEFT] >= 0 and len(source) <= MAX_FORMULA_LENGTH:
        html = _mathml(source, token.markup in ON_OWN_LINES)
    if html is None:
        html = f"<code>{escapeHtml(source)}</code>"
    if not token.block:
        return html
    label = escapeHtml(gettext("Formula"))
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">{html}</div>\n'


@lru_cache(maxsize=KEPT_FORMULAS)
def _mathml(source: str, is_display: bool) -> str | None:
    """Return the formula as MathML; None if it cannot be converted."""
    try:
        source = ENVIRONMENTS.sub(r"\\\1{align*}", source)
        formula = convert_to_element(source, display="block" if is_display else "inline")
        for element in formula.iter():
            element.text = element.text and unescape(element.text)  # the converter writes signs as references
            if alignment := element.attrib.pop("columnalign", ""):
                element.set("class", alignment)  # browsers do not know the attribute
        return ElementTree.tostring(formula, encoding="unicode")
    except Exception:  # noqa: BLE001 - the converter raises many types; the page shows the source
        return None
