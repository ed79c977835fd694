"""Address of the client behind a request or a websocket, also behind trusted proxies."""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any

from django.http import HttpRequest

from sessions_app.conf import conf

HEADER = b"x-forwarded-for"
BITS_OF_NETWORK = 64
"""Number of bits shared by the IPv6 addresses of a household or office; its devices choose the other bits."""


def client_address(scope_or_request: Mapping[str, Any] | HttpRequest) -> str:
    """Return the IP address of a client; empty for a connection without an address, such as a Unix socket."""
    if isinstance(scope_or_request, HttpRequest):
        peer = scope_or_request.META.get("REMOTE_ADDR", "")
        header = scope_or_request.META.get("HTTP_X_FORWARDED_FOR", "")
    else:
        peer = (scope_or_request.get("client") or ("",))[0]
        values = [value for name, value in scope_or_request.get("headers", ()) if name.lower() == HEADER]
        header = b",".join(values).decode("latin-1")
    # Each of the `trusted_proxies` in front of the site appends the address of its client. The entry of the first of
    # these proxies counts; a client can forge only earlier entries.
    proxies = conf().trusted_proxies
    forwarded = header.split(",")[-proxies:] if proxies else []
    address = (_parse(forwarded[0]) if forwarded else None) or _parse(peer)
    return str(address or "")


def client_network(scope_or_request: Mapping[str, Any] | HttpRequest) -> str:
    """Return the address for counting a client: the IPv4 address, or the first address of the IPv6 network."""
    text = client_address(scope_or_request)
    if ":" not in text:
        return text
    return str(IPv6Network((text.partition("%")[0], BITS_OF_NETWORK), strict=False).network_address)


def _parse(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address, written with or without a port; None for any other text."""
    text = text.strip()
    host, _, port = text.rpartition(":")
    candidates = (text, host.strip("[]") if port.isdecimal() else text, text.strip("[]"))
    for candidate in candidates:
        try:
            address = ip_address(candidate)
        except ValueError:
            continue
        # A server that listens on IPv6 sees IPv4 clients as `::ffff:192.0.2.1`; one client must not count as two.
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return mapped or address
    return None
