"""Logs of the HTTP client, without the keys that URLs may hold."""

from __future__ import annotations

import logging

import httpx2


def hide_queries() -> None:
    """Leave the queries of URLs out of the HTTP client's log from now on; a second call changes nothing."""
    logging.getLogger("httpx2").addFilter(_without_query)


def _without_query(record: logging.LogRecord) -> bool:
    """Shorten the URLs in a log record of the HTTP client: a query may hold an API key."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            argument.copy_with(query=None) if isinstance(argument, httpx2.URL) else argument
            for argument in record.args
        )
    return True
