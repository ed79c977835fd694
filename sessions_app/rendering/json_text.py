"""Indentation of JSON text.

The text is not parsed: parsing would round numbers, and fail for truncated or very deep values.
"""

import re
from collections.abc import Iterator

DEEPEST_INDENT = 20
"""Maximum indent in levels. A deeper value would consist mostly of spaces."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[^\s,:\[\]{}"]+|[,:\[\]{}]', re.DOTALL)
_EMPTY = {"{": "}", "[": "]"}


def indent_json(text: str) -> str:
    """Return JSON text with one value per line. The text may be cut anywhere."""
    return "".join(_pieces(_TOKEN.findall(text)))


def _pieces(tokens: list[str]) -> Iterator[str]:
    depth = 0
    before = ""
    for piece in tokens:
        if piece in ("}", "]"):
            depth -= 1
            if _EMPTY.get(before) != piece:
                yield _new_line(depth)
        elif before in _EMPTY or before == ",":
            yield _new_line(depth)
        yield ": " if piece == ":" else piece
        if piece in _EMPTY:
            depth += 1
        before = piece


def _new_line(depth: int) -> str:
    return "\n" + "  " * min(depth, DEEPEST_INDENT)
