"""Contract: a client's address comes from the connection, or from the proxies that the site trusts."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from pytest_django.fixtures import Settings

from sessions_app.base.client_address import client_address, client_network


def address_of(forwarded: str | None, peer: str = "10.0.0.9") -> str:
    """Return the address of a websocket, after a check that a request has the same one."""
    headers = [] if forwarded is None else [(b"x-forwarded-for", forwarded.encode())]
    extra = {} if forwarded is None else {"HTTP_X_FORWARDED_FOR": forwarded}
    request = RequestFactory().get("/", REMOTE_ADDR=peer, **extra)  # type: ignore[arg-type]  # of django-stubs
    address = client_address({"client": [peer, 4000], "headers": headers})
    assert client_address(request) == address
    return address


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, None, "10.0.0.9"),
        (0, "198.51.100.7", "10.0.0.9"),
        (1, "198.51.100.7", "198.51.100.7"),
        (1, "203.0.113.1, 198.51.100.7", "198.51.100.7"),
        (2, "203.0.113.1, 198.51.100.7, 10.0.0.8", "198.51.100.7"),
        (2, "198.51.100.7", "198.51.100.7"),
        (1, None, "10.0.0.9"),
        (1, "unknown", "10.0.0.9"),
        (1, "198.51.100.7:5123", "198.51.100.7"),
        (1, "[2001:db8::1]:5123", "2001:db8::1"),
        (1, "::ffff:198.51.100.7", "198.51.100.7"),
    ],
)
def test_only_trusted_proxies_name_the_client(
    settings: Settings, proxies: int, forwarded: str | None, address: str
) -> None:
    settings.ADK = {"trusted_proxies": proxies}
    assert address_of(forwarded) == address


def test_a_header_that_is_sent_twice_counts_as_one_list(settings: Settings) -> None:
    settings.ADK = {"trusted_proxies": 1}
    headers = [(b"x-forwarded-for", b"203.0.113.1"), (b"x-forwarded-for", b"198.51.100.7")]
    assert client_address({"client": ["10.0.0.9", 4000], "headers": headers}) == "198.51.100.7"


def test_a_connection_over_a_unix_socket_has_no_address() -> None:
    assert client_address({"client": None, "headers": []}) == ""
    assert client_network({"client": None, "headers": []}) == ""


def test_all_ipv6_addresses_of_a_network_are_one_client() -> None:
    first, second = ({"client": [f"2001:db8:0:1::{end}", 4000]} for end in ("7", "ff"))
    assert client_network(first) == client_network(second) == "2001:db8:0:1::"
