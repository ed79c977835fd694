"""Emphasis and strikethrough next to letters and punctuation of scripts without spaces.

CommonMark takes `**` between punctuation and a letter for a beginning, because a space would follow an end: in
`**「A」**と**「B」**` と would be bold. Here, punctuation of these scripts is taken for a letter, and their letters
beside other punctuation for spaces.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline import StateInline, emphasis, strikethrough

from sessions_app.rendering.markdown.written_scripts import UNSPACED

WIDE_SIGNS = (
    "\u3001-\u3004\u3008-\u303f\u30fb\ufe10-\ufe4f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3d\uff5b-\uff65"
)
"""Punctuation of Chinese, Japanese and Korean, which is as wide as their letters."""
UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}{WIDE_SIGNS}]")
InlineRule: TypeAlias = Callable[[StateInline, bool], bool]


def delimit_unspaced_words(markdown: MarkdownIt) -> None:
    """Extend the parser: emphasis and strikethrough may begin and end next to a letter that follows without a space."""
    markdown.inline.ruler.at("emphasis", _beside_unspaced(emphasis.tokenize))
    markdown.inline.ruler.at("strikethrough", _beside_unspaced(strikethrough.tokenize))


def _beside_unspaced(rule: InlineRule) -> InlineRule:
    """Return the rule, with its own decision about markers next to a letter or punctuation of such a script."""

    def parse_markers(state: StateInline, silent: bool) -> bool:
        start = state.pos
        known = len(state.delimiters)
        if not rule(state, silent):
            return False
        before = state.src[start - 1] if start else " "
        after = state.src[state.pos] if state.pos < state.posMax else " "
        if UNSPACED_CHARACTER.search(before + after):
            marker = state.src[start]
            for delimiter in state.delimiters[known:]:
                delimiter.open = _may_begin(marker, before, after)
                delimiter.close = _may_begin(marker, after, before)
        return True

    return parse_markers


def _may_begin(marker: str, outside: str, inside: str) -> bool:
    """True if emphasis may begin, or end, at markers between the characters outside and inside of it."""
    if not _adjoins(outside, inside):
        return False
    if marker != "_" or not _adjoins(inside, outside):
        return True
    # Within a word, such as snake_case, `_` is a letter.
    return _is_punctuation(outside) or (_is_punctuation(inside) and bool(UNSPACED_CHARACTER.match(outside)))


def _adjoins(outside: str, inside: str) -> bool:
    """True if the markers belong to the character inside (CommonMark, "left-flanking" and "right-flanking")."""
    if isWhiteSpace(ord(inside)):
        return False
    if UNSPACED_CHARACTER.match(inside) or not _is_punctuation(inside):
        return True
    return isWhiteSpace(ord(outside)) or _is_punctuation(outside) or bool(UNSPACED_CHARACTER.match(outside))


def _is_punctuation(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)
