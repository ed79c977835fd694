"""Error details for staff: the text or traceback of an error, with secrets masked and of limited length."""

from __future__ import annotations

import traceback

from sessions_app.base.codec import storable
from sessions_app.conf import conf
from sessions_app.secrets.masking import mask_text


def describe(error: BaseException) -> str:
    """Return the traceback of an error, masked and cut by `masked`."""
    return masked("".join(traceback.format_exception(error)))


def masked(text: str) -> str:
    """Return the end of a text, at most `ADK["error_detail_limit"]` characters, with secrets masked."""
    hidden = mask_text(storable(text))
    return hidden[-conf().error_detail_limit :] if conf().error_detail_limit > 0 else ""
