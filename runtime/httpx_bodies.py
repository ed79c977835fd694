"""Limit on the bodies of HTTP answers for httpx, the HTTP client of the A2A SDK and of LiteLLM."""

from typing import cast

import httpx

from runtime.http_bodies import BoundedStream


class _BoundedStream(BoundedStream, httpx.AsyncByteStream):
    """Stream that httpx accepts, too."""


def limit_body(response: httpx.Response, limit: int) -> None:
    """Make the reading of the body raise `BodyTooLargeError` after `limit` decoded bytes."""
    encoding = response.headers.pop("content-encoding", "")
    response.stream = _BoundedStream(cast(httpx.AsyncByteStream, response.stream), encoding, limit)
