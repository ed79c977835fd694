"""Remove keys and passwords from URLs in logs and error messages."""

import logging
import re

_USER_PART = re.compile(r"(?<=://)[^\s/?#'\"]*@")
_QUERY = re.compile(r"((?:\w:/|(?<![^\s'\"(]))/[^\s?'\"]*+)(?:\?[^\s'\"]*+)?")
"""URL, or path at the beginning of a word, with its query. Matches without one, too: the search never goes back."""


def hide_secrets_of_urls() -> None:
    """Hide queries and passwords of URLs in the HTTP clients' logs from now on; a second call changes nothing."""
    for client in ("httpx2", "httpx"):
        # `addFilter` ignores a filter that it already has.
        logging.getLogger(client).addFilter(_hide_url_secrets)


def without_secrets_of_urls(text: str) -> str:
    """Return the text without queries, user names and passwords of URLs."""
    return _QUERY.sub(r"\1", _USER_PART.sub("", text))


def _hide_url_secrets(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(map(_without_secrets, record.args))
    return True


def _without_secrets(argument: object) -> object:
    # By name: the clients log URL objects of their own classes.
    if type(argument).__name__ != "URL":
        return argument
    return without_secrets_of_urls(str(argument))
