"""Sign-in of a person at another service, on a page of that service, by OAuth 2.1 with PKCE.

    begin: address of the service's page -> the person grants access -> the service sends the person back with a code
      -> `check_response` -> `finish_sign_in`: tokens

Between the two steps, which may run in two processes, the caller keeps `SignIn.client` secret and finds it again by its
`state`. Requests reach public addresses, and internal ones only where the site's own configuration points: the resource
itself, and the issuers of configured clients. A code goes to the token endpoint of the issuer that the person was sent
to, and only if that issuer has sent the person back.
"""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runtime.auth.auth_credential import OAuth2Auth
from runtime.tools.openapi_tool.auth.oauth_exchange import (
    Endpoints,
    challenge_of,
    request_token,
    with_query,
)
from runtime.tools.openapi_tool.http_exchange import ExchangeError, HttpExchange, origin_of

TIMEOUT = 10.0
MAX_METADATA_BYTES = 100_000
_clients: dict[str, OAuth2Auth] = {}
"""The operator's clients by issuer. A secret goes to its issuer only, whatever a service says about itself."""


class SignInError(ExchangeError):
    """The sign-in cannot begin or end; the sentence is for the person."""


@dataclass(frozen=True)
class SignIn:
    """A sign-in that has begun.

    Attributes:
        url: page of the service to which the person goes.
        client: what the exchange of the code needs; its `state` comes back with the code.
        requires_issuer: True if the service has promised to name itself when it sends the person back (RFC 9207).
    """

    url: str
    client: OAuth2Auth
    requires_issuer: bool


def begin_on_page(client: OAuth2Auth, redirect_uri: str) -> SignIn:
    """Begin a sign-in on the consent page that the tool itself has named, `auth_uri`."""
    own = client.model_copy(
        update={
            "redirect_uri": redirect_uri,
            "state": secrets.token_urlsafe(32),
            "code_verifier": secrets.token_urlsafe(64),
        }
    )
    query = {"redirect_uri": redirect_uri, "state": own.state, **challenge_of(own.code_verifier or "")}
    return SignIn(with_query(client.auth_uri or "", query), own, requires_issuer=False)


def sign_in_exchange(resource: str) -> HttpExchange:
    """Return the sender of requests about sign-ins at a resource."""
    trusted = [resource, *configured_issuers()]
    return HttpExchange(
        timeout=TIMEOUT,
        max_response_bytes=MAX_METADATA_BYTES,
        internal_origins=frozenset(origin_of(url) for url in trusted),
    )


def check_response(client: OAuth2Auth, answer: Mapping[str, str], *, requires_issuer: bool) -> None:
    """Check that the issuer itself has sent the person back, with a code.

    Raises:
        SignInError: another server has answered, or the person or the service has refused.
    """
    issuer = answer.get("iss")
    is_another = issuer and client.issuer and not same_issuer(issuer, client.issuer)
    if is_another or (issuer is None and requires_issuer):
        raise SignInError(
            "The answer came from another service than the one that was asked. It was not used."
        )
    if not answer.get("code"):
        raise SignInError("The service did not grant access.")


def same_issuer(one: str, other: str) -> bool:
    """Return True for the same issuer; URL libraries write one without a path with a slash or without."""
    return one.rstrip("/") == other.rstrip("/")


async def finish_sign_in(client: OAuth2Auth, code: str) -> OAuth2Auth:
    """Return the tokens for a code, with what their renewal and revocation need.

    Raises:
        ExchangeError: the authorization server refused the code, or cannot be reached.
    """
    asking = client.model_copy(update={"auth_code": code})
    endpoints = Endpoints(token_url=client.token_url)
    token = await request_token(asking, endpoints, sign_in_exchange(client.resource or ""))
    if token is None:
        raise SignInError("The service did not grant access.")
    done = {"state": None, "code_verifier": None, "redirect_uri": None}
    return client.model_copy(update={**token.model_dump(exclude_none=True), **done})


def set_oauth_clients(clients: Mapping[str, OAuth2Auth]) -> None:
    """Set the clients of this process by the address of their issuer."""
    _clients.clear()
    _clients.update({issuer.rstrip("/"): client for issuer, client in clients.items()})


def client_of_issuer(issuer: str) -> OAuth2Auth | None:
    return _clients.get(issuer.rstrip("/"))


def configured_issuers() -> Iterable[str]:
    return _clients.keys()
