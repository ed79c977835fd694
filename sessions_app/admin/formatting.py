"""Values as an auditor reads them. Plain text unless it says HTML: who shows it escapes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _

EXCERPT = 160
ARGUMENT = 60
SHOWN = 20_000


def pretty(value: object) -> str:
    """JSON, indented."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def pretty_block(value: object) -> SafeString:
    """JSON, indented, as preformatted HTML."""
    return format_html('<pre class="audit-block">{}</pre>', pretty(value))


def status_badge(status: str | None) -> SafeString:
    """A status of an invocation or a job as HTML, a coloured word; nothing for None."""
    if not status:
        return SafeString()
    return format_html('<span class="audit-badge" data-status="{}">{}</span>', status, _(status))


def shown(text: str) -> str:
    """The text, or of a very long one its beginning and a word about that: a page holds a hundred events."""
    if len(text) <= SHOWN:
        return text
    return _("%(beginning)s\n… (cut: %(length)d characters in all, the raw JSON file has them)") % {
        "beginning": text[:SHOWN],
        "length": len(text),
    }


def excerpt(text: str, length: int = EXCERPT) -> str:
    """The beginning, on one line."""
    return Truncator(" ".join(text[: 4 * length].split())).chars(length)


def call_text(name: str, args: Mapping[str, Any] | None) -> str:
    """A function call as one would write it; long arguments are cut."""
    written = (f"{key}={excerpt(_compact(value), ARGUMENT)}" for key, value in (args or {}).items())
    return excerpt(f"{name}({', '.join(written)})")


def duration(span: timedelta) -> str:
    """A span of time, as exact as its size asks for."""
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


def runtime(started: datetime | None, finished: datetime | None) -> str | None:
    """How long something took, or has taken so far; None when it did not begin."""
    if started is None:
        return None
    return duration((finished or timezone.now()) - started)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
