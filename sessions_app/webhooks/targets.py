"""Addresses of webhooks: a check of their URLs, and connections to public hosts only.

Anybody with an API key chooses these addresses, so they must not reach the site's own network. The check of the URL is
not enough: the owner of a name can change its DNS answer later. So `PublicHosts` resolves the name, checks all of its
addresses, and connects to one of them.
"""

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit

from httpcore2 import AnyIOBackend, AsyncNetworkBackend, AsyncNetworkStream

from runtime.tools.openapi_tool.address_guard import NAT64, is_internal
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError
from sessions_app.models.webhook import URL_LENGTH

LOCAL_NAMES = {"localhost", "127.0.0.1", "::1"}


class ForbiddenTargetError(OSError):
    """The name leads to a private address."""


def check_url(url: str) -> str:
    """Return the URL unchanged if it may be the address of a webhook.

    Raises:
        InvalidInputError: the text is no HTTPS URL of a public host.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port  # raises for a port that is no number
    except ValueError:
        raise InvalidInputError(
            "This is no URL. Write one such as https://example.org/hook.", field="url"
        ) from None
    if not host or len(url) > URL_LENGTH or not url.isascii() or any(char <= " " for char in url):
        raise InvalidInputError("This is no URL. Write one such as https://example.org/hook.", field="url")
    if parts.username is not None or parts.fragment:
        raise InvalidInputError("The URL must have no user name, password or fragment.", field="url")
    if not _is_scheme_allowed(parts, host):
        raise InvalidInputError("The URL must begin with https://.", field="url")
    if not _may_be_local(host) and _is_private_literal(host):
        raise InvalidInputError(
            f"“{host}” is not a public address. Name a host on the internet.", field="url"
        )
    return url


def _is_scheme_allowed(parts: SplitResult, host: str) -> bool:
    return parts.scheme == "https" or (parts.scheme == "http" and _may_be_local(host))


def _may_be_local(host: str) -> bool:
    return host in LOCAL_NAMES and conf().webhooks_to_localhost


def _is_private_literal(host: str) -> bool:
    try:
        return not is_public(host)
    except ValueError:  # a name, which is resolved for each connection
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal"))


def is_public(address: str) -> bool:
    """True if the address is one of the internet; False for a private, local, reserved or translated address."""
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address) and (parsed.sixtofour or parsed.teredo or parsed in NAT64):
        return False
    return not is_internal(str(parsed))


class PublicHosts(AsyncNetworkBackend):
    """Connections to public addresses, and to this machine where `webhooks_to_localhost` allows it."""

    def __init__(self) -> None:
        self._backend = AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature of the base class
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        """Connect to the first address of the host that answers.

        Raises:
            ForbiddenTargetError: an address is not public.
        """
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        # One private address is enough to refuse the name: any of them may be the address that answers.
        if not _may_be_local(host) and not all(map(is_public, addresses)):
            raise ForbiddenTargetError(f"“{host}” leads to an address that is not public.")
        for address in addresses[:-1]:
            try:
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
            except Exception:  # noqa: BLE001, S112 - the next address may answer; the last one raises
                continue
        return await self._backend.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)
