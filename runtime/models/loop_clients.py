"""Clients of a provider, one for each event loop: a connection works only in the loop that opened it.

Agents are shared by all event loops of a process, and programs may run `asyncio.run` several times. So no model keeps a
client; it asks `LoopClients` for the client of the running loop. The client's connections are closed when the loop
shuts down its asynchronous generators, as `asyncio.run` does at its end: each entry has a generator for this purpose.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Generic, NamedTuple, TypeVar

import httpx2

from runtime.http_bodies import limit_body
from runtime.http_logs import hide_secrets_of_urls
from runtime.models.failures import MAX_ANSWER_BYTES

C = TypeVar("C")

hide_secrets_of_urls()

ResponseHook = Callable[[httpx2.Response], Awaitable[None]]


class Access(NamedTuple):
    """API key and URL of a provider; None is read from the environment when the client is created."""

    api_key: str | None
    base_url: str | None


@dataclass(frozen=True)
class _Entry(Generic[C]):
    client: C
    lifetime: AsyncGenerator[None, None]


class LoopClients(Generic[C]):
    """Clients created by `create` from an access and an HTTP client, one for each event loop and access."""

    def __init__(
        self, create: Callable[[Access, httpx2.AsyncClient], C], on_response: ResponseHook | None = None
    ) -> None:
        self._create = create
        self._hooks: list[ResponseHook] = [_limit_answer]
        if on_response:
            self._hooks.append(on_response)
        self._entries: dict[tuple[asyncio.AbstractEventLoop, Access], _Entry[C]] = {}

    async def for_running_loop(self, access: Access) -> C:
        """Return the client of the running event loop, creating it at the first call; raise the errors of `create`."""
        key = (asyncio.get_running_loop(), access)
        if key not in self._entries:
            self._forget_closed_loops()
            http_client = self._create_http_client()
            entry = _Entry(self._create(access, http_client), self._close_at_loop_end(key, http_client))
            # A loop closes only generators that have been started.
            await anext(entry.lifetime)
            self._entries[key] = entry
        return self._entries[key].client

    async def _close_at_loop_end(
        self, key: tuple[asyncio.AbstractEventLoop, Access], http_client: httpx2.AsyncClient
    ) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._entries.pop(key, None)
            await http_client.aclose()

    def _forget_closed_loops(self) -> None:
        # A loop may be closed without shutting down its generators.
        for key in list(self._entries):
            if key[0].is_closed():
                del self._entries[key]

    def _create_http_client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            verify=ssl_context(),
            follow_redirects=True,
            # The models set their own timeout.
            timeout=None,
            # Every running answer holds a connection; the library's limit of 100 would make further calls wait.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
            event_hooks={"response": self._hooks},
        )


async def _limit_answer(response: httpx2.Response) -> None:
    limit_body(response, MAX_ANSWER_BYTES)


@cache
def ssl_context() -> ssl.SSLContext:
    # Cached: loading the certificates is slow and blocks the event loop.
    return httpx2.create_ssl_context()
