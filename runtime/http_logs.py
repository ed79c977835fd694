"""URLs in logs and error messages, without the keys and passwords that they may hold."""

from __future__ import annotations

import logging
import re

_USER_PART = re.compile(r"(?<=://)[^\s/?#'\"]*@")
_QUERY = re.compile(r"((?:\w:/|(?<![^\s'\"(]))/[^\s?'\"]*)\?[^\s'\"]*")
"""The query of a URL, or of a path at the beginning of a word."""


def hide_secrets_of_urls() -> None:
    """Leave queries and passwords of URLs out of the HTTP clients' logs from now on; a second call changes nothing."""
    for client in ("httpx2", "httpx"):
        logging.getLogger(client).addFilter(_hide_url_secrets)


def without_secrets_of_urls(text: str) -> str:
    """Return the text without the queries, user names and passwords of the URLs in it."""
    return _QUERY.sub(r"\1", _USER_PART.sub("", text))


def _hide_url_secrets(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(
            without_secrets_of_urls(str(argument)) if type(argument).__name__ == "URL" else argument
            for argument in record.args
        )
    return True
