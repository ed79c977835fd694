"""Agent cards: read from an address or a file, and checked before anything is sent to the address in them.

A card names the addresses to which messages, with their headers, are sent. So a fetched card may only name its own
server, and all addresses need TLS.
"""

import json
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
from a2a.client.card_resolver import parse_agent_card
from a2a.types import AgentCard
from google.protobuf.json_format import ParseError

from runtime.a2a.errors import AgentCardResolutionError
from runtime.http_bodies import BodyTooLargeError
from runtime.httpx_bodies import limit_body

MAX_BYTES = 1_000_000


def is_address(source: str) -> bool:
    """Return True for the URL of a card; other texts are paths of files."""
    return source.lower().startswith(("http://", "https://"))


async def fetch_card(client: httpx.AsyncClient, url: str, headers: Mapping[str, str]) -> AgentCard:
    """Return the card at a URL.

    Raises:
        AgentCardResolutionError: there is no usable card.
        httpx.HTTPError: the server cannot be reached, or answers with an error.
    """
    _check_secure(url, url)
    # A redirect could lead to another server, with our headers.
    async with client.stream("GET", url, headers=headers, follow_redirects=False) as response:
        if response.is_error:
            response.raise_for_status()
        if response.status_code != httpx.codes.OK:
            raise AgentCardResolutionError(
                f"The agent card {url!r} is answered with the status {response.status_code}. "
                "Give the address at which the card itself is."
            )
        limit_body(response, MAX_BYTES)
        try:
            text = await response.aread()
        except BodyTooLargeError as error:
            raise AgentCardResolutionError(
                f"The agent card {url!r} has more than {MAX_BYTES} bytes."
            ) from error
    card = _parse_card(text, url)
    for interface in card.supported_interfaces:
        _check_secure(interface.url, url)
        if _origin(interface.url) != _origin(url):
            raise AgentCardResolutionError(
                f"The agent card {url!r} names the address {interface.url!r} on another server. If you trust it, "
                "give the card itself as agent_card instead of its address."
            )
    return card


def read_card(path: str) -> AgentCard:
    """Return the card in a file.

    Raises:
        AgentCardResolutionError: there is no usable card.
    """
    try:
        text = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise AgentCardResolutionError(f"The agent card {path!r} cannot be read: {error}.") from error
    return _parse_card(text, path)


def _parse_card(text: bytes, source: str) -> AgentCard:
    try:
        card: AgentCard = parse_agent_card(json.loads(text))
    except (ValueError, TypeError, AttributeError, RecursionError, SystemError, ParseError) as error:
        raise AgentCardResolutionError(f"{source!r} is no agent card: {error}.") from error
    return check_card(card, source)


def check_card(card: AgentCard, source: str) -> AgentCard:
    """Return the card if it names an address of the agent.

    Raises:
        AgentCardResolutionError: the card names no address.
    """
    if not any(interface.url for interface in card.supported_interfaces):
        raise AgentCardResolutionError(f"The agent card {source!r} names no address of the agent.")
    return card


def _check_secure(url: str, source: str) -> None:
    """Raise `AgentCardResolutionError` for an address that is not safe for confidential data."""
    try:
        parsed = httpx.URL(url)
        is_secure = parsed.scheme == "https" or (parsed.scheme == "http" and _is_this_machine(parsed.host))
    except httpx.InvalidURL:
        is_secure = False
    if not is_secure:
        raise AgentCardResolutionError(
            f"The address {url!r} of the agent card {source!r} must begin with https://. "
            "Only a server on this machine may have http://."
        )


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _origin(url: str) -> tuple[str, Any, Any]:
    parsed = httpx.URL(url)
    return parsed.scheme, parsed.host, parsed.port
