"""Error details for staff: the text or traceback of an error, with secrets masked and of limited length."""

from __future__ import annotations

import re
import traceback

from sessions_app.codec import storable
from sessions_app.conf import conf

MASK = "[masked]"
_SECRETS = re.compile(
    r"""
    -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | (?<=://)[^\s/@]+:[^\s/@]+(?=@)                       # user and password in a URL
    | (?<=bearer\ )[\w.~+/=-]+ | (?<=basic\ )[\w+/=]{8,}   # Authorization headers
    | \b(?:AIza[\w-]{30,} | sk-[\w-]{16,} | gh[pousr]_\w{20,} | xox[a-z]-[\w-]{10,} | A[KS]IA[A-Z0-9]{16})
    | \beyJ[\w-]+\.[\w-]+\.[\w-]*                          # JSON web tokens
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_NAMED = re.compile(
    r"""([\w-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|credential)[\w-]*["']?\s*[=:]\s*["']?)"""
    r"""(?!\[masked\])[^\s"'&,;)}]+""",
    re.IGNORECASE,
)


def describe(error: BaseException) -> str:
    """Return the traceback of an error, as `masked` returns texts."""
    return masked("".join(traceback.format_exception(error)))


def masked(text: str) -> str:
    """Return the end of a text, as long as `ADK["error_detail_limit"]`, with what looks like a secret masked."""
    hidden = _NAMED.sub(rf"\1{MASK}", _SECRETS.sub(MASK, storable(text)))
    return hidden[-conf().error_detail_limit :] if conf().error_detail_limit > 0 else ""
