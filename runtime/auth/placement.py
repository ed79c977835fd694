"""Place credentials in a request."""

import base64
from dataclasses import dataclass, field

from runtime.auth.auth_credential import AuthCredential, HttpAuth, HttpCredentials
from runtime.auth.auth_schemes import APIKey, ApiKeyLocation, AuthScheme, HTTPBase


@dataclass(frozen=True)
class Placement:
    """Headers, query and cookies that authenticate a request. `repr` does not show them."""

    headers: dict[str, str] = field(default_factory=dict, repr=False)
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    cookies: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def place(scheme: AuthScheme | None, credential: AuthCredential) -> Placement | None:
    """Return the credential's place in a request; None if it is not usable yet, such as an authorization code."""
    if credential.http:
        return _placed_header(credential.http)
    if credential.oauth2 and credential.oauth2.access_token:
        return _bearer(credential.oauth2.access_token)
    if not credential.api_key:
        return None
    if isinstance(scheme, HTTPBase):
        return _placed_header(
            HttpAuth(scheme=scheme.scheme, credentials=HttpCredentials(token=credential.api_key))
        )
    # The scheme does not say where the key belongs: send it as a bearer token.
    if not isinstance(scheme, APIKey):
        return _bearer(credential.api_key)
    match scheme.in_:
        case ApiKeyLocation.HEADER:
            return Placement(headers={scheme.name: credential.api_key})
        case ApiKeyLocation.QUERY:
            return Placement(query=((scheme.name, credential.api_key),))
        case ApiKeyLocation.COOKIE:
            return Placement(cookies=((scheme.name, credential.api_key),))


def _placed_header(http: HttpAuth) -> Placement | None:
    given = http.credentials
    others = http.additional_headers or {}
    if given.token:
        # OpenAPI writes `bearer`, requests usually have `Bearer`.
        scheme = http.scheme.capitalize() if http.scheme.lower() == "bearer" else http.scheme
        return Placement(headers={**others, "Authorization": f"{scheme} {given.token}"})
    if http.scheme.lower() != "basic" or given.username is None:
        return Placement(headers=dict(others)) if others else None
    pair = f"{given.username}:{given.password or ''}".encode()
    return Placement(headers={**others, "Authorization": f"Basic {base64.b64encode(pair).decode()}"})


def _bearer(token: str) -> Placement:
    return Placement(headers={"Authorization": f"Bearer {token}"})
