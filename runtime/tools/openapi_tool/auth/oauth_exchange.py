"""Tokens of OAuth 2 and OpenID Connect, for a person's code or for the client itself (RFC 6749)."""

import base64
import hashlib
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote_plus, urlencode, urlsplit

import pydantic_core

from runtime.auth.auth_credential import OAuth2Auth
from runtime.auth.auth_schemes import AuthScheme, OAuth2, OpenIdConnect, OpenIdConnectWithConfig
from runtime.tools.openapi_tool.http_exchange import ExchangeError, HttpAnswer, HttpExchange, HttpRequest

IN_HEADER = "client_secret_basic"
EARLY_SECONDS = 30
"""Seconds before its end at which a token counts as expired: the request has to arrive, and clocks differ."""


class RefusedError(ExchangeError):
    """The authorization server has refused the code or the token: the person has to sign in again."""


@dataclass(frozen=True)
class Endpoints:
    """Addresses and grants of an authorization server.

    Attributes:
        issuer: its name in the answers to browsers (RFC 9207); None if it is not known.
        grants_to_clients: True if the client itself gets tokens, without a person.
    """

    authorization_url: str | None = None
    token_url: str | None = None
    scopes: tuple[str, ...] = ()
    issuer: str | None = None
    revocation_url: str | None = None
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
            scopes = tuple(flow.scopes)
            return Endpoints(flow.authorization_url, flow.token_url, scopes, grants_to_clients=grants)
        case OpenIdConnectWithConfig():
            scopes = tuple(scheme.scopes or ("openid",))
            return Endpoints(
                scheme.authorization_endpoint,
                scheme.token_endpoint,
                scopes,
                revocation_url=scheme.revocation_endpoint,
            )
        case OpenIdConnect():
            found = await _send(HttpRequest("GET", scheme.open_id_connect_url, {}), exchange)
            return Endpoints(
                _text(found.get("authorization_endpoint")),
                _text(found.get("token_endpoint")),
                ("openid",),
                _text(found.get("issuer")),
                _text(found.get("revocation_endpoint")),
            )
    return Endpoints()


def consent_page(client: OAuth2Auth, endpoints: Endpoints) -> str | None:
    """Return the address of the page where the person grants access; None without a page or a readable address."""
    if not endpoints.authorization_url or not client.client_id:
        return None
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": client.redirect_uri,
        "scope": " ".join(endpoints.scopes),
        "state": client.state,
        "audience": client.audience,
        "nonce": client.nonce,
        "prompt": client.prompt,
        "resource": client.resource,
    }
    if client.code_verifier:
        query |= challenge_of(client.code_verifier)
    try:
        return with_query(endpoints.authorization_url, query)
    except ValueError:
        return None


def challenge_of(verifier: str) -> dict[str, str | None]:
    """Return the parameters of a consent page for a verifier (RFC 7636, section 4.2)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return {"code_challenge": challenge, "code_challenge_method": "S256"}


def with_query(url: str, query: dict[str, str | None]) -> str:
    """Return the URL with these parameters, in place of its own with the same names; leave out empty values."""
    parts = urlsplit(url)
    pairs: list[tuple[str, str]] = []
    for key, own_value in parse_qsl(parts.query, keep_blank_values=True):
        if key not in query:
            pairs.append((key, own_value))
    for key, value in query.items():
        if value:
            pairs.append((key, value))
    return parts._replace(query=urlencode(pairs)).geturl()


async def request_token(
    client: OAuth2Auth, endpoints: Endpoints, exchange: HttpExchange
) -> OAuth2Auth | None:
    """Return the tokens for the client's code or refresh token, or for the client itself; None without a grant.

    Raises:
        RefusedError: the server refused the grant.
        ExchangeError: the server failed, or the answer has no token.
    """
    grant = _grant(client, endpoints)
    if grant is None or not endpoints.token_url:
        return None
    answer = await _send(_form(endpoints.token_url, client, {**grant, "resource": client.resource}), exchange)
    token = answer.get("access_token")
    if not isinstance(token, str) or not token:
        raise ExchangeError("The authorization server's answer has no access token.")
    expires_at: int | None = None
    seconds = _seconds(answer.get("expires_in"))
    if seconds is not None:
        expires_at = int(time.time()) + seconds
    return OAuth2Auth(
        access_token=token,
        # Without rotation, the server expects the same refresh token again.
        refresh_token=_text(answer.get("refresh_token")) or client.refresh_token,
        scope=_text(answer.get("scope")) or client.scope,
        expires_at=expires_at,
    )


async def revoke_token(client: OAuth2Auth, exchange: HttpExchange) -> bool:
    """Revoke the tokens (RFC 7009); return False if the authorization server offers no way to do so.

    Raises:
        ExchangeError: the server did not revoke them.
    """
    token = client.refresh_token or client.access_token
    if not client.revocation_url or not token:
        return False
    answer = await exchange.send(_form(client.revocation_url, client, {"token": token}))
    if answer.status != 200:
        raise _error_of(answer)
    return True


def has_expired(token: OAuth2Auth) -> bool:
    """Return True for an access token at its end."""
    return token.expires_at is not None and token.expires_at - EARLY_SECONDS <= time.time()


def _form(url: str, client: OAuth2Auth, fields: dict[str, str | None]) -> HttpRequest:
    """Return a request in which the client authenticates itself."""
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    # Beside a secret in the header, too: servers made of the `mcp` package look the client up by it.
    fields = {**fields, "client_id": client.client_id}
    if client.token_endpoint_auth_method == IN_HEADER:
        headers["Authorization"] = _basic(client)
    else:
        fields["client_secret"] = client.client_secret
    body = urlencode({key: value for key, value in fields.items() if value}).encode()
    return HttpRequest("POST", url, headers, body)


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
    try:
        query = parse_qs(urlsplit(address or "").query)
    except ValueError:
        return None
    return query.get("code", [None])[0]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _seconds(value: Any) -> int | None:
    # Some servers send a text. A lifetime of no number is none: the token is used until it is refused.
    try:
        return max(int(value), 0)
    except (TypeError, ValueError, OverflowError):
        return None


async def _send(request: HttpRequest, exchange: HttpExchange) -> dict[str, Any]:
    answer = await exchange.send(request)
    if answer.status != 200 or answer.is_cut:
        raise _error_of(answer)
    try:
        found = pydantic_core.from_json(answer.body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ExchangeError("The authorization server's answer is not a JSON object.")
    return found


def _error_of(answer: HttpAnswer) -> ExchangeError:
    if answer.is_cut:
        return ExchangeError(f"The authorization server's answer has more than {len(answer.body)} bytes.")
    kind = RefusedError if answer.status in (400, 401) else ExchangeError
    return kind(f"The authorization server answered with status {answer.status}.")
