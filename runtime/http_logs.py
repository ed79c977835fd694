"""Logs of the HTTP client, without the keys and passwords that URLs may hold."""

from __future__ import annotations

import logging

import httpx2


def hide_secrets_of_urls() -> None:
    """Leave queries and passwords of URLs out of the HTTP client's log from now on; a second call changes nothing."""
    logging.getLogger("httpx2").addFilter(_without_secrets)


def _without_secrets(record: logging.LogRecord) -> bool:
    """Shorten the URLs in a log record of the HTTP client: their query or user part may hold a key or a password."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            argument.copy_with(query=None, userinfo=b"") if isinstance(argument, httpx2.URL) else argument
            for argument in record.args
        )
    return True
