"""Escapes for characters that nobody can see, in a text or a whole HTML page.

A direction character such as U+202E makes a browser draw the text after it in another order, so the page would not show
what is stored. The filter works on the finished page and so covers every field of every template.
"""

import json
import re
from html import escape

from django.utils.safestring import SafeString, mark_safe

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Control characters except tab and line ends, direction characters, and invisible characters except joiners.

Some languages are written with joiners.
"""
_REACHING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that change the direction of the text after them, up to an end mark or the end of the paragraph."""
_PIECES = re.compile(r"<(script|style|textarea)\b[^<]*+</\1>|<(title|option)\b[^<]*+</\2>|<[^<>]*+>|[^<]+")
"""A piece of a page: an element without inner tags, a tag, or a text.

No piece extends over another raw `<`, so the search takes linear time. Pages escape every `<` inside of the elements
named here; with a raw `<` their content would count as text of the page.
"""
_VALUE = re.compile(r'( value="[^"]*")')


def show_hidden_characters(html: str) -> str:
    r"""Return the page with hidden characters as escapes such as `\u202e`; in texts, each escape is in a marked span.

    Values that a form sends back are not changed. Texts of the page must be escaped, without raw `<` or `>`.
    """
    return _PIECES.sub(_escape_piece, html) if _HIDDEN.search(html) else html


def mark_hidden(text: str) -> SafeString:
    r"""Return a plain text as HTML with hidden characters as escapes such as `\u202e`, each in a marked span."""
    return mark_safe(show_hidden_characters(escape(text)))  # noqa: S308 - escaped here


def escape_hidden(text: str) -> str:
    r"""Return a plain text with hidden characters as escapes such as `\u202e`."""
    return _HIDDEN.sub(_escape, text)


def strip_hidden(text: str) -> str:
    """Return a plain text without hidden characters."""
    return _HIDDEN.sub("", text)


def strip_bidi_controls(text: str) -> str:
    """Return a plain text without characters that would change the order of the text after it in a window's title."""
    return _REACHING.sub("", text)


def escape_in_json(text: str) -> str:
    """Return JSON text with hidden characters as JSON escapes, for a form field in which the text is edited."""
    return _HIDDEN.sub(lambda character: json.dumps(character[0])[1:-1], text)


def _escape_piece(piece: re.Match[str]) -> str:
    html = piece[0]
    if piece[1]:
        return html
    if html.startswith("<input"):
        outside_of_value = _VALUE.split(html)
        outside_of_value[::2] = (_HIDDEN.sub(_escape, part) for part in outside_of_value[::2])
        return "".join(outside_of_value)
    return _HIDDEN.sub(_escape if html.startswith("<") else _escape_in_span, html)


def _escape(character: re.Match[str]) -> str:
    number = ord(character[0])
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _escape_in_span(character: re.Match[str]) -> str:
    return f'<span class="audit-hidden">{_escape(character)}</span>'
