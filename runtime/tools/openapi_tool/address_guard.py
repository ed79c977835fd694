"""Guard against requests to internal addresses: a model must not reach services of the site's network.

The guard resolves the host's name, checks all addresses, and connects to a checked address. If the HTTP client resolved
the name again, the name server could answer with an internal address the second time (DNS rebinding).
"""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import httpx2

NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")


class InternalAddressError(httpx2.ConnectError):
    """The host is in an internal network."""


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Transport that connects only to public addresses."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request to the first address of the host that accepts the connection.

        Raises:
            InternalAddressError: the host has an internal address.
        """
        failure: Exception | None = None
        for address in await public_addresses(request.url):
            try:
                return await self._inner.handle_async_request(_pin_address(request, address))
            except httpx2.ConnectError as error:
                failure = error
        raise failure or httpx2.ConnectError(f"The host {request.url.host!r} has no address.")

    async def aclose(self) -> None:
        await self._inner.aclose()


async def public_addresses(url: httpx2.URL) -> list[str]:
    """Return the addresses of a URL's host.

    Raises:
        InternalAddressError: an address is internal.
        httpx2.ConnectError: the host cannot be resolved.
    """
    loop = asyncio.get_running_loop()
    host = url.raw_host.decode("ascii")
    try:
        found = await loop.getaddrinfo(host, url.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpx2.ConnectError(f"The host {host!r} cannot be resolved.") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    # One internal address is enough to refuse: the request goes to the first address that accepts a connection.
    if any(is_internal(address) for address in addresses):
        raise InternalAddressError(
            f"The host {host!r} is in an internal network, which this tool must not reach. The tool's author can "
            "allow it with allow_private_network_access=True."
        )
    return addresses


def is_internal(address: str) -> bool:
    """Return True for a loopback, private, link-local, metadata, multicast or reserved address."""
    parsed = ip_address(address)
    embedded = _find_embedded(parsed) if isinstance(parsed, IPv6Address) else None
    if embedded is not None:
        return is_internal(str(embedded))
    # `is_global` of Python counts some unassigned IPv6 ranges as global.
    if isinstance(parsed, IPv6Address) and parsed not in _GLOBAL_UNICAST:
        return True
    return not parsed.is_global or parsed.is_multicast


def _find_embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address within a mapped, 6to4, Teredo or NAT64 address, or None."""
    # Python's `ipaddress` has no property for NAT64: the last 32 bits are the IPv4 address.
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour


def _pin_address(request: httpx2.Request, address: str) -> httpx2.Request:
    """Return the request, sent to `address`."""
    # The `Host` header and the server name of TLS stay: the certificate is checked against the host's name.
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")},
    )
