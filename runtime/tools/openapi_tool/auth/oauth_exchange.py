"""Tokens of OAuth 2 and OpenID Connect, for a person's code or for the client itself (RFC 6749)."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlencode, urlsplit

import pydantic_core

from runtime.auth.auth_credential import OAuth2Auth
from runtime.auth.auth_schemes import AuthScheme, OAuth2, OpenIdConnect, OpenIdConnectWithConfig
from runtime.tools.openapi_tool.http_exchange import ExchangeError, HttpExchange, HttpRequest

IN_HEADER = "client_secret_basic"


@dataclass(frozen=True)
class Endpoints:
    """Addresses and grants of an authorization server.

    Attributes:
        grants_to_clients: True if the client itself gets tokens, without a person.
    """

    authorization_url: str | None = None
    token_url: str | None = None
    scopes: tuple[str, ...] = ()
    grants_to_clients: bool = False


async def find_endpoints(scheme: AuthScheme, exchange: HttpExchange) -> Endpoints:
    """Return the endpoints named by a scheme or by its discovery document.

    Raises:
        ExchangeError: the discovery document cannot be fetched or read.
    """
    match scheme:
        case OAuth2(flows=flows):
            flow = flows.authorization_code or flows.client_credentials
            if flow is None:
                return Endpoints()
            grants = flows.authorization_code is None
            return Endpoints(flow.authorization_url, flow.token_url, tuple(flow.scopes), grants)
        case OpenIdConnectWithConfig():
            scopes = tuple(scheme.scopes or ("openid",))
            return Endpoints(scheme.authorization_endpoint, scheme.token_endpoint, scopes)
        case OpenIdConnect():
            found = await _send(HttpRequest("GET", scheme.open_id_connect_url, {}), exchange)
            return Endpoints(found.get("authorization_endpoint"), found.get("token_endpoint"), ("openid",))
    return Endpoints()


async def request_token(
    client: OAuth2Auth, endpoints: Endpoints, exchange: HttpExchange
) -> OAuth2Auth | None:
    """Return the token for the client's code or refresh token, or for the client itself; None without a grant.

    Raises:
        ExchangeError: the server refused the request, or the answer has no token.
    """
    grant = _grant(client, endpoints)
    if grant is None or not endpoints.token_url:
        return None
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    if client.token_endpoint_auth_method == IN_HEADER:
        headers["Authorization"] = _basic(client)
        form = grant
    else:
        form = {**grant, "client_id": client.client_id, "client_secret": client.client_secret}
    body = urlencode({key: value for key, value in form.items() if value}).encode()
    answer = await _send(HttpRequest("POST", endpoints.token_url, headers, body), exchange)
    token = answer.get("access_token")
    if not isinstance(token, str) or not token:
        raise ExchangeError("The authorization server's answer has no access token.")
    return OAuth2Auth(access_token=token)


def _grant(client: OAuth2Auth, endpoints: Endpoints) -> dict[str, str | None] | None:
    if code := client.auth_code or _code_in(client.auth_response_uri):
        return {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": client.redirect_uri,
            "code_verifier": client.code_verifier,
        }
    if client.refresh_token:
        return {"grant_type": "refresh_token", "refresh_token": client.refresh_token}
    if endpoints.grants_to_clients and client.client_id and client.client_secret:
        scope = " ".join(endpoints.scopes)
        return {"grant_type": "client_credentials", "scope": scope, "audience": client.audience}
    return None


def _basic(client: OAuth2Auth) -> str:
    """Return the header that authenticates the client (RFC 6749, section 2.3.1)."""
    pair = f"{quote_plus(client.client_id or '')}:{quote_plus(client.client_secret or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _code_in(address: str | None) -> str | None:
    return parse_qs(urlsplit(address or "").query).get("code", [None])[0]


async def _send(request: HttpRequest, exchange: HttpExchange) -> dict[str, Any]:
    answer = await exchange.send(request)
    if answer.status != 200 or answer.is_cut:
        raise ExchangeError(f"The authorization server answered with status {answer.status}.")
    try:
        found = pydantic_core.from_json(answer.body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ExchangeError("The authorization server's answer is not a JSON object.")
    return found
