"""The two clients.

`Operations` describes each request once, as data. `Attempts` decides about the next attempt, and `Stream` reads the
bytes of a stream: neither does I/O. Only sending, waiting and the loop over bytes are written twice below, because
`await` cannot be shared with synchronous code.
"""

import asyncio
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, closing
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import httpx

from adk_client.attempts import Attempts
from adk_client.calls import Call, Id
from adk_client.models import StoredFile
from adk_client.news import News
from adk_client.operations import Operations
from adk_client.stream import Stream

T = TypeVar("T")
H = TypeVar("H", httpx.Client, httpx.AsyncClient)
TIMEOUT = httpx.Timeout(30.0, read=60.0)
"""A stream has a heartbeat every 15 seconds: after a minute without a byte, the connection is broken."""


class BaseClient(Operations, Generic[H]):
    """Common parts of both clients.

    Args:
        site: address of the site, such as `https://agents.example.com`.
        key: API key.
        attempts: maximum number of successive attempts without success, if the connection breaks or the site is busy.
        patience: maximum time in seconds to wait if the site asks for it.
        http: further arguments of the `httpx` client, such as `verify`, `proxy` or `transport`.
    """

    def __init__(
        self, site: str, key: str, *, attempts: int = 8, patience: float = 60.0, **http: Any
    ) -> None:
        self._max_attempts = attempts
        self._patience = patience
        authorization = {"Authorization": f"Bearer {key}"}
        self._http: H = self._connect(
            {"base_url": site, "headers": authorization, "timeout": TIMEOUT, **http}
        )

    @abstractmethod
    def _connect(self, options: dict[str, Any]) -> H:
        """Return the client of httpx."""

    def _attempts(self) -> Attempts:
        return Attempts(self._max_attempts, self._patience)


class Client(BaseClient[httpx.Client]):
    """Synchronous client; a context manager."""

    def _connect(self, options: dict[str, Any]) -> httpx.Client:
        return httpx.Client(**options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ask(self, session_id: Id, text: str, *, files: Sequence[StoredFile] = ()) -> Iterator[News]:
        """Send a message and yield the news of its run, until the run ends."""
        yield from self.follow_run(self.start_run(session_id, text, files=files).run_id)

    def send(self, call: Call[T], /) -> T:
        """Send a call, in several attempts if necessary, and return its result."""
        attempts = self._attempts()
        request = call.request(self._http)
        while True:
            try:
                response = self._http.send(request)
            except httpx.TransportError as error:
                pause = attempts.seconds_after(error)
            else:
                if response.is_success:
                    return call.read(response)
                pause = attempts.seconds_after(response)
            time.sleep(pause)

    def follow(self, stream: Stream, /) -> Iterator[News]:
        """Yield the news of a stream, over several connections if necessary."""
        attempts = self._attempts()
        while not stream.has_ended:
            failure: httpx.Response | httpx.TransportError | None = None
            try:
                request = stream.call().request(self._http)
                # Closed even if the caller stops reading: the connection would otherwise stay open.
                with closing(self._http.send(request, stream=True)) as response:
                    if response.is_success:
                        for piece in response.iter_bytes():
                            # Only successive failures count: a stream may live for days.
                            attempts.note_success()
                            yield from stream.read(piece)
                    else:
                        # The body has the problem details, and is not read by a streamed request.
                        response.read()
                        failure = response
            except httpx.TransportError as error:
                failure = error
            # Also after a connection that ended without an error: only the news `Ended` ends a stream.
            if not stream.has_ended:
                time.sleep(attempts.seconds_after(failure))


class AsyncClient(BaseClient[httpx.AsyncClient]):
    """Asynchronous client; an asynchronous context manager."""

    def _connect(self, options: dict[str, Any]) -> httpx.AsyncClient:
        return httpx.AsyncClient(**options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def ask(
        self, session_id: Id, text: str, *, files: Sequence[StoredFile] = ()
    ) -> AsyncIterator[News]:
        """Send a message and yield the news of its run, until the run ends."""
        run = await self.start_run(session_id, text, files=files)
        async for news in self.follow_run(run.run_id):
            yield news

    async def send(self, call: Call[T], /) -> T:
        """Send a call, in several attempts if necessary, and return its result."""
        attempts = self._attempts()
        request = call.request(self._http)
        while True:
            try:
                response = await self._http.send(request)
            except httpx.TransportError as error:
                pause = attempts.seconds_after(error)
            else:
                if response.is_success:
                    return call.read(response)
                pause = attempts.seconds_after(response)
            await asyncio.sleep(pause)

    async def follow(self, stream: Stream, /) -> AsyncIterator[News]:
        """Yield the news of a stream, over several connections if necessary."""
        attempts = self._attempts()
        while not stream.has_ended:
            failure: httpx.Response | httpx.TransportError | None = None
            try:
                request = stream.call().request(self._http)
                async with aclosing(await self._http.send(request, stream=True)) as response:
                    if response.is_success:
                        async for piece in response.aiter_bytes():
                            attempts.note_success()
                            for news in stream.read(piece):
                                yield news
                    else:
                        await response.aread()
                        failure = response
            except httpx.TransportError as error:
                failure = error
            if not stream.has_ended:
                await asyncio.sleep(attempts.seconds_after(failure))
