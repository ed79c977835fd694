"""google-genai clients, one per event loop, and response streams that close immediately."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, cast

import httpx2
from google import genai

from runtime import types
from runtime.errors import ConfigurationError


class _Key(NamedTuple):
    loop: asyncio.AbstractEventLoop  # a connection works only in the loop that opened it
    api_key: str | None
    base_url: str | None


@dataclass(frozen=True)
class _Entry:
    client: genai.Client
    lifetime: AsyncGenerator[None, None]


_entries: dict[_Key, _Entry] = {}

# Collects the HTTP responses of the running call, because google-genai does not expose them.
_open_responses: ContextVar[list[httpx2.Response] | None] = ContextVar("_open_responses", default=None)


async def client_for_running_loop(api_key: str | None, base_url: str | None) -> genai.Client:
    """Return the client of the running event loop, created at the first call.

    A key or URL of None is read from the environment when the client is created. The connections are closed when
    the loop shuts down its asynchronous generators, as `asyncio.run` does at its end.

    Raises:
        ConfigurationError: no API key is configured.
    """
    key = _Key(asyncio.get_running_loop(), api_key, base_url)
    if key not in _entries:
        _forget_closed_loops()
        http_client = _new_http_client()
        entry = _Entry(_new_client(key, http_client), _close_at_loop_end(key, http_client))
        await anext(entry.lifetime)
        _entries[key] = entry
    return _entries[key].client


class ChunkStream:
    """One streamed answer. `aclose` closes the HTTP response immediately instead of leaving it to garbage collection.

    `next` raises `TimeoutError` after `timeout` seconds of silence.
    """

    def __init__(self, chunks: AsyncIterator[types.GenerateContentResponse], timeout: float | None) -> None:
        # google-genai declares an iterator but returns a generator.
        self._chunks = cast("AsyncGenerator[types.GenerateContentResponse, None]", chunks)
        self._timeout = timeout
        self._responses: list[httpx2.Response] = []

    async def next(self) -> types.GenerateContentResponse | None:
        """Return the next chunk, or None at the end."""
        token = _open_responses.set(self._responses)
        try:
            async with asyncio.timeout(self._timeout):
                return await anext(self._chunks, None)
        finally:
            _open_responses.reset(token)

    async def aclose(self) -> None:
        for response in self._responses:
            await response.aclose()
        await self._chunks.aclose()


async def _close_at_loop_end(key: _Key, http_client: httpx2.AsyncClient) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        _entries.pop(key, None)
        await http_client.aclose()


def _forget_closed_loops() -> None:
    for key in list(_entries):
        if key.loop.is_closed():
            del _entries[key]


def _new_client(key: _Key, http_client: httpx2.AsyncClient) -> genai.Client:
    options = types.HttpOptions(
        base_url=key.base_url,
        httpx_async_client=http_client,
        client_args={"verify": _ssl_context()},
    )
    try:
        return genai.Client(api_key=key.api_key, http_options=options)
    except ValueError as error:
        raise ConfigurationError(
            "Gemini has no API key. Set GOOGLE_API_KEY or GEMINI_API_KEY in the environment, "
            f"or pass Gemini(api_key=…). (google-genai says: {error})"
        ) from error


def _new_http_client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        verify=_ssl_context(),
        follow_redirects=True,
        # Every running answer holds a connection; the library's limit of 100 would make further calls wait.
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        event_hooks={"response": [_collect_response]},
    )


async def _collect_response(response: httpx2.Response) -> None:
    responses = _open_responses.get()
    if responses is not None:
        responses.append(response)


@cache
def _ssl_context() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
