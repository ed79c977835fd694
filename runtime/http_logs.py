"""URLs in logs and error messages, without the keys and passwords that they may hold."""

from __future__ import annotations

import logging
import re

import httpx2

_USER_PART = re.compile(r"(?<=://)[^\s/?#'\"]*@")
_QUERY = re.compile(r"((?:\w:/|(?<![^\s'\"(]))/[^\s?'\"]*)\?[^\s'\"]*")
"""The query of a URL, or of a path at the beginning of a word."""


def hide_secrets_of_urls() -> None:
    """Leave queries and passwords of URLs out of the HTTP client's log from now on; a second call changes nothing."""
    logging.getLogger("httpx2").addFilter(_shorten_urls)


def without_secrets_of_urls(text: str) -> str:
    """Return the text without the queries, user names and passwords of the URLs in it."""
    return _QUERY.sub(r"\1", _USER_PART.sub("", text))


def _shorten_urls(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(
            without_secrets_of_urls(str(argument)) if isinstance(argument, httpx2.URL) else argument
            for argument in record.args
        )
    return True
