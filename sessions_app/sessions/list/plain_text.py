"""Plain text of a piece of Markdown, for titles, and for the line in which a search shows what it has found.

A piece may begin and end anywhere, so a parser of Markdown would read it wrongly. The patterns take linear time.
"""

import re

_START, _END = "\ue000", "\ue001"
"""Private characters around the word that was found."""
_PRIVATE = re.compile(f"[{_START}{_END}]")
_ADDRESS = re.compile(r"\]\([^\s()]{0,500}\)?")
"""End of a link, with its address."""
_FENCE = re.compile(r"(?:```|~~~)[\w+#.-]{0,30}")
_TABLE_RULE = re.compile(r"^[ \t]{0,9}\|?[ \t]{0,9}:?-{2}[-:| \t]{0,500}$", re.MULTILINE)
_LINE_START = re.compile(r"^[ \t]{0,9}(?:#{1,6}|>|[-*+]|\d{1,9}[.)])[ \t]", re.MULTILINE)
"""Mark of a heading, a quotation or an item."""
_CELL_BORDER = re.compile(r"\|")
_UNDERSCORES = rf"(?<![\w{_END}])_{{1,3}}(?=\S)|(?<=\S)_{{1,3}}(?![\w{_START}])"
_MARKS = re.compile(rf"!?\[|\]|`+|~~|(?<!\d)\*+(?=\S)|(?<=\S)\*+(?!\d)|{_UNDERSCORES}")
_SPACES = re.compile(r"\s+")
_RULES = (
    (_ADDRESS, ""),
    (_FENCE, " "),
    (_TABLE_RULE, ""),
    (_LINE_START, ""),
    (_CELL_BORDER, " "),
    (_MARKS, ""),
    (_SPACES, " "),
)


def plain_line(text: str) -> str:
    """Return Markdown as plain text on one line."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def plain_pieces(before: str, word: str, after: str) -> tuple[str, str, str]:
    """Return a word in Markdown, with the text before and after it, as plain text on one line.

    The word is empty if it is within an address, which the line does not show.
    """
    # The rules look at the characters beside a mark, so they see the three pieces as one text.
    text = plain_line(f"{_PRIVATE.sub('', before)}{_START}{word}{_END}{_PRIVATE.sub('', after)}")
    plain_before, start, rest = text.partition(_START)
    plain_word, _, plain_after = rest.partition(_END)
    return plain_before, plain_word if start else "", plain_after
