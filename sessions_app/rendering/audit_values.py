"""Formatting of values for the audit pages, with secrets masked.

Functions with the return type `str` return plain text, which is not escaped.

A long value is cut before it is formatted. `beginning_of` cuts where no secret is split: half of a secret does not look
like one, so nothing would mask it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sessions_app.secrets.masking import LOOK_AHEAD, beginning_of, mask, mask_json, mask_member, mask_text

NOTHING = "-"
"""Text for a missing value, in place of Django's "None"."""
EXCERPT_LENGTH = 160
ARGUMENT_LENGTH = 60
TRUNCATE_AT = 20_000
"""Maximum characters of a value. A page shows a hundred events, each with several values."""
_SIGNATURE = re.compile(r'(?<="thoughtSignature":)( ?)"([\w+/=-]+)"')
"""Signature of a thought in Base64: long, and readable by its model only."""
DEEPEST_INDENT = 20
"""Maximum indent in levels. A deeper value would consist mostly of spaces."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[^\s,:\[\]{}"]+|[,:\[\]{}]', re.DOTALL)
_EMPTY = {"{": "}", "[": "]"}


def format_json(value: object) -> str:
    """Return the value as indented JSON, truncated if it is very long."""
    return format_stored_json(json.dumps(value, ensure_ascii=False))


def format_stored_json(text: str) -> str:
    """Return JSON text indented, truncated if it is very long. Digits stay as they are: the text is not parsed."""
    return format_beginning(text[: TRUNCATE_AT + LOOK_AHEAD], len(text))


def format_beginning(beginning: str, length: int) -> str:
    """Return the beginning of a JSON text indented, with a note if the whole text is longer.

    Args:
        beginning: the first characters of the text. If the text is longer, the last `LOOK_AHEAD` of them are not shown:
            they are for finding the end of a secret.
        length: length of the whole text.
    """
    if len(beginning) >= length:
        return indent_json(mask_json(_without_signatures(beginning)))
    shown = beginning_of(beginning, len(beginning) - LOOK_AHEAD)
    return _with_length(indent_json(mask_json(_without_signatures(shown))), length)


def _without_signatures(text: str) -> str:
    """Return JSON text with sizes in place of signatures."""
    return _SIGNATURE.sub(lambda signature: f'{signature[1]}"{_signature_size(signature[2])}"', text)


def _signature_size(base64: str) -> str:
    size = len(base64) * 3 // 4
    return ngettext("signature, %(size)d byte", "signature, %(size)d bytes", size) % {"size": size}


def one_line_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def format_member(key: str, beginning: str, length: int) -> str:
    """Return the JSON text of a member like `format_beginning`; masked if its key names a secret."""
    masked = mask_member(key, beginning)
    if masked != beginning:
        return masked
    return format_beginning(beginning, length)


def json_block(value: object) -> SafeString:
    """Return the value as indented JSON in a `<pre>` element."""
    return format_html('<pre class="audit-block" dir="auto" tabindex="0">{}</pre>', format_json(value))


def status_badge(status: str | None) -> SafeString:
    """Return a status as a coloured HTML badge; empty for None."""
    if not status:
        return SafeString()
    return format_html('<span class="audit-badge" data-status="{}">{}</span>', status, _(status))


def truncate(text: str) -> str:
    """Return the text, cut after `TRUNCATE_AT` characters with a note of its length."""
    beginning = mask_text(beginning_of(text, TRUNCATE_AT))
    if len(text) <= TRUNCATE_AT:
        return beginning
    return _with_length(beginning, len(text))


def _with_length(beginning: str, length: int) -> str:
    return _(
        "%(beginning)s\n… (truncated: %(length)d characters in total; download the raw JSON for all of them)"
    ) % {"beginning": beginning, "length": length}


def excerpt(text: str, length: int = EXCERPT_LENGTH) -> str:
    """Return the beginning of the text on one line."""
    # Four times the length, because runs of white space become one space.
    return Truncator(" ".join(mask_text(beginning_of(text, 4 * length)).split())).chars(length)


def format_call(name: str, args: Mapping[str, Any] | None) -> str:
    """Return a function call as Python would write it, with long arguments shortened."""
    arguments = (
        f"{key}={excerpt(one_line_json(value), ARGUMENT_LENGTH)}" for key, value in mask(args or {}).items()
    )
    return excerpt(f"{name}({', '.join(arguments)})")


def format_duration(span: timedelta) -> str:
    """Return a time span in the two units that fit its size, such as `2 h 5 min`."""
    seconds = abs(span.total_seconds())
    sign = "-" if span < timedelta() else ""
    if seconds < 1:
        return f"{sign}{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{sign}{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{sign}{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{sign}{hours} h {minutes} min"
    return f"{sign}{hours // 24} d {hours % 24} h"


def format_cost(cost: float) -> str:
    """Return a cost in the site's currency; below 1 with three significant digits, empty for no cost."""
    if not cost:
        return ""
    return f"{cost:.2f}" if cost >= 1 else f"{Decimal(f'{cost:.3g}'):f}"


def elapsed_time(started: datetime | None, finished: datetime | None) -> str | None:
    """Return the time from start to finish, or until now; None before the start."""
    if started is None:
        return None
    return format_duration((finished or timezone.now()) - started)


def indent_json(text: str) -> str:
    """Return JSON text with one value per line. The text may be cut anywhere.

    It is not parsed: parsing would round numbers, and fail for truncated or very deep values.
    """
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
