"""One HTTP request and its answer, within limits of time, size and address.

A document, a model or another server may have named the address, so neither it nor the answer is trusted. The limit of
time is one for the whole exchange, as a server could send a byte now and then for ever. A body is cut at its limit and
marked: each caller knows what a beginning is worth. Redirects stay on the server, as the request may hold credentials
for it, unless the caller sends none. Internal addresses are refused unless the author allows them; with our own
transport the connection goes to the very address that was checked (`GuardedTransport`).
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2

from runtime.errors import AdkError
from runtime.http_bodies import BodyTooLargeError, bounded_pieces
from runtime.models.loop_clients import ssl_context
from runtime.tools.openapi_tool.address_guard import (
    GuardedTransport,
    InternalAddressError,
    public_addresses,
)

DEFAULT_TIMEOUT = 60.0
DEFAULT_MAX_RESPONSE_BYTES = 1_000_000
MAX_REDIRECTS = 5

ClientFactory = Callable[[], httpx2.AsyncClient]
Verify = bool | str | ssl.SSLContext | None


class ExchangeError(AdkError, ConnectionError):
    """No answer arrived. The message is for the model and holds no credential."""


class ForbiddenHostError(ExchangeError):
    """Requests to the host are not allowed: it is in an internal network."""


@dataclass(frozen=True)
class HttpRequest:
    """Request to send. Its URL and headers may hold a credential, so `repr` leaves them out."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class HttpAnswer:
    """Answer of a server.

    Attributes:
        url: address that answered, after redirects.
        body: body, up to `max_response_bytes`.
        is_cut: True if the body was longer.
    """

    url: str = field(repr=False)
    status: int
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool = False


@dataclass(frozen=True)
class HttpExchange:
    """Sends requests, each over a new connection.

    Attributes:
        timeout: seconds for the whole exchange.
        max_response_bytes: limit of a body in bytes; the rest is not read.
        allow_internal: True to allow requests to loopback, private and link-local addresses.
        internal_origins: origins, such as `http://localhost:8000`, that may have such addresses although
            `allow_internal` is False.
        verify: certificates to trust, as httpx takes them; None: the default certificates.
        client_factory: makes the client for a request, for custom proxies and transports. Addresses are then checked
            before each request, but not pinned.
        follows_everywhere: True to follow redirects to other servers, too; for requests without credentials.
    """

    timeout: float = DEFAULT_TIMEOUT
    max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES
    allow_internal: bool = False
    verify: Verify = None
    client_factory: ClientFactory | None = None
    internal_origins: frozenset[str] = frozenset()
    follows_everywhere: bool = False

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Return the answer to a request.

        Raises:
            ForbiddenHostError: the server has an internal address.
            ExchangeError: the server did not answer.
        """
        try:
            async with asyncio.timeout(self.timeout), self._create_client(request.url) as client:
                return await self._follow(client, _build_request(client, request))
        except (TimeoutError, httpx2.TimeoutException):
            raise ExchangeError(f"The service did not answer within {self.timeout:g} s.") from None
        except InternalAddressError as error:
            raise ForbiddenHostError(f"The request failed: {error}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ExchangeError(f"The request failed: {error or type(error).__name__}") from error

    async def _follow(self, client: httpx2.AsyncClient, request: httpx2.Request) -> HttpAnswer:
        """Send a request and follow redirects."""
        for _ in range(MAX_REDIRECTS):
            response = await client.send(request, stream=True, follow_redirects=False)
            try:
                if response.next_request is None:
                    return await self._read(response)
                # Credentials must not reach another server.
                if not (self.follows_everywhere or _is_same_server(request.url, response.next_request.url)):
                    target = response.next_request.url.host
                    raise ExchangeError(f"The service redirects to another server, {target!r}.")
            finally:
                await response.aclose()
            request = response.next_request
        raise ExchangeError(f"The service redirected the request more than {MAX_REDIRECTS} times.")

    async def _read(self, response: httpx2.Response) -> HttpAnswer:
        body = bytearray()
        is_cut = False
        try:
            async for piece in bounded_pieces(response, self.max_response_bytes):
                body += piece
        except BodyTooLargeError:
            is_cut = True
        return HttpAnswer(str(response.url), response.status_code, response.headers, bytes(body), is_cut)

    def _create_client(self, url: str) -> httpx2.AsyncClient:
        allow_internal = self.allow_internal or origin_of(url) in self.internal_origins
        if self.client_factory is not None:
            client = self.client_factory()
            # The author's client connects by itself, so its addresses can be checked but not pinned.
            if not allow_internal:
                client.event_hooks["request"].append(_check_address)
            return client
        transport: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport(
            verify=ssl_context() if self.verify in (None, True) else self.verify
        )
        if not allow_internal:
            transport = GuardedTransport(transport)
        # `send` limits the whole exchange; a timeout for each read would let a slow server take forever.
        return httpx2.AsyncClient(transport=transport, timeout=None)


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL.

    Raises:
        ExchangeError: the URL cannot be read.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        # `from None`: the error may quote the URL, which may hold a secret.
        raise ExchangeError("The address cannot be read.") from None
    return f"{parts.scheme}://{parts.netloc.lower()}"


async def _check_address(request: httpx2.Request) -> None:
    await public_addresses(request.url)


def _build_request(client: httpx2.AsyncClient, request: HttpRequest) -> httpx2.Request:
    """Return the request as an object of the client.

    Raises:
        ExchangeError: HTTP cannot send the URL, or the name or the value of a header.
    """
    try:
        headers = [(name.encode("ascii"), value.encode("utf-8")) for name, value in request.headers.items()]
        return client.build_request(request.method, request.url, headers=headers, content=request.content)
    except UnicodeError:
        # `from None`: the codec's error quotes the value, which may be a secret.
        raise ExchangeError("The address, or a header's name or value, cannot be sent.") from None


def _is_same_server(origin: httpx2.URL, target: httpx2.URL) -> bool:
    """Return True for the same origin, and for an upgrade from http to https on the same host."""
    if target.host != origin.host:
        return False
    if (origin.scheme, target.scheme) == ("http", "https"):
        return origin.port is None and target.port is None
    return (origin.scheme, origin.port) == (target.scheme, target.port)
