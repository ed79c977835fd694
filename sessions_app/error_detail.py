"""Error details for staff: the text or traceback of an error, with secrets masked and of limited length."""

from __future__ import annotations

import traceback

from sessions_app.codec import storable
from sessions_app.conf import conf
from sessions_app.masking import mask_text


def describe(error: BaseException) -> str:
    """Return the traceback of an error, as `masked` returns texts."""
    return masked("".join(traceback.format_exception(error)))


def masked(text: str) -> str:
    """Return the end of a text, as long as `ADK["error_detail_limit"]`, with what looks like a secret masked."""
    hidden = mask_text(storable(text))
    return hidden[-conf().error_detail_limit :] if conf().error_detail_limit > 0 else ""
