"""OAuth clients that the operator has registered at authorization servers, by issuer.

A client belongs to its issuer: its secret goes nowhere else, whatever a service says about itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runtime.auth.auth_credential import OAuth2Auth

_clients: dict[str, OAuth2Auth] = {}


def set_oauth_clients(clients: Mapping[str, OAuth2Auth]) -> None:
    """Set the clients of this process by the address of their issuer."""
    _clients.clear()
    _clients.update({issuer.rstrip("/"): client for issuer, client in clients.items()})


def client_of_issuer(issuer: str) -> OAuth2Auth | None:
    """Return the client at an issuer, or None."""
    return _clients.get(issuer.rstrip("/"))


def configured_issuers() -> Iterable[str]:
    """Return the issuers with a client."""
    return _clients.keys()
