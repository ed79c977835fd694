"""Bodies of HTTP answers, bounded by their decoded size.

A compressed body can be a thousand times larger than what was sent. So a limit counts decoded bytes, and the decoder
works in pieces: httpx2 never decodes more than about a megabyte at once. `bounded_pieces` is for a caller that reads a
body itself. For a body that a library reads, `limit_body` replaces the response's stream first.
"""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing
from typing import Protocol, cast

import httpx2

from runtime.errors import AdkError


class BodyTooLargeError(AdkError, httpx2.StreamError):
    """The body of an HTTP answer is too large."""


class _EncodedStream(AsyncIterable[bytes], Protocol):
    async def aclose(self) -> None: ...


async def bounded_pieces(response: httpx2.Response, limit: int) -> AsyncGenerator[bytes, None]:
    """Yield the decoded body piece by piece, at most `limit` bytes.

    Raises:
        BodyTooLargeError: the body has more bytes; the first `limit` were yielded.
    """
    left = limit
    async with aclosing(response.aiter_bytes()) as pieces:
        async for piece in pieces:
            yield piece[:left]
            left -= len(piece)
            if left < 0:
                raise BodyTooLargeError(f"The answer has more than {limit} bytes.")


def limit_body(response: httpx2.Response, limit: int) -> None:
    """Make the reading of the body raise `BodyTooLargeError` after `limit` decoded bytes; for a hook of a client."""
    # The encoding is removed because the new stream is decoded already.
    encoding = response.headers.pop("content-encoding", "")
    response.stream = BoundedStream(cast(httpx2.AsyncByteStream, response.stream), encoding, limit)


class BoundedStream(httpx2.AsyncByteStream):
    """Decoded body of a response, bounded.

    Args:
        encoded: the body as it was sent.
        encoding: value of the header `Content-Encoding`.
        limit: largest number of decoded bytes.
    """

    def __init__(self, encoded: _EncodedStream, encoding: str, limit: int) -> None:
        self._response = httpx2.Response(200, headers={"content-encoding": encoding}, stream=_Relay(encoded))
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(bounded_pieces(self._response, self._limit)) as pieces:
            async for piece in pieces:
                yield piece

    async def aclose(self) -> None:
        await self._response.aclose()


class _Relay(httpx2.AsyncByteStream):
    """Stream of another HTTP library as a stream of httpx2."""

    def __init__(self, stream: _EncodedStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
