"""Sign-in of a person at an MCP server by OAuth 2.1, with the parts of the `mcp` package.

The server's answer 401 leads to a request to the person. When the person begins the sign-in, the server's metadata name
its authorization server (RFC 9728), whose own metadata (RFC 8414) name the pages and a place to register a client
(RFC 7591). All of them come from a server that may be hostile.
"""

import secrets
from typing import TypeVar

import httpx2
from mcp.client.auth import OAuthRegistrationError
from mcp.client.auth.oauth2 import PKCEParameters, check_registration_usable
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    get_client_metadata_scopes,
    handle_registration_response,
    union_scopes,
)
from mcp.shared.auth import (
    DEFAULT_GRANT_TYPES,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    ProtectedResourceMetadata,
)
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from pydantic import AnyUrl, BaseModel, ValidationError

from runtime.auth.auth_credential import OAuth2Auth
from runtime.auth.auth_schemes import ProtectedResource
from runtime.auth.auth_tool import AuthConfig
from runtime.tools.mcp_allow_list import is_allowed_url
from runtime.tools.openapi_tool.auth.oauth_exchange import Endpoints, consent_page
from runtime.tools.openapi_tool.auth.sign_in import (
    MAX_METADATA_BYTES,
    SignIn,
    SignInError,
    client_of_issuer,
    same_issuer,
    sign_in_exchange,
)
from runtime.tools.openapi_tool.http_exchange import HttpExchange, HttpRequest, origin_of

M = TypeVar("M", bound=BaseModel)

NOT_ACCEPTED = "The service did not accept this site as a client."

MAX_CLIENT_CHARACTERS = 4_000
_offered: set[tuple[str, str | None]] = set()


def protected_resource(url: str) -> ProtectedResource:
    """Return the scheme of an MCP server."""
    return ProtectedResource(resource=resource_url_from_server_url(url))


def offer(scheme: ProtectedResource, credential_key: str | None) -> None:
    """Note that an agent of this process offers the resource: people may sign in there, for this key."""
    _offered.add((scheme.resource, credential_key))


def with_challenge(
    scheme: ProtectedResource, challenge: httpx2.Response, granted: str | None
) -> ProtectedResource:
    """Return the scheme with what the server's refusal tells: its metadata, and scopes if the author names none.

    Args:
        granted: scopes of the present token, which the next one shall have, too.
    """
    scope = union_scopes(granted, extract_scope_from_www_auth(challenge))
    scopes = scheme.scopes or (scope or "").split() or None
    metadata_url = extract_resource_metadata_from_www_auth(challenge)
    return scheme.model_copy(update={"scopes": scopes, "metadata_url": metadata_url})


async def begin_sign_in(config: AuthConfig, redirect_uri: str, client_name: str) -> SignIn:
    """Discover the authorization server and get a client of it, configured or registered now.

    Args:
        config: config of a `ProtectedResource`, from a request to the person.
        redirect_uri: page to which the service sends the person back.
        client_name: name of the program that the service shows to the person.

    Raises:
        ExchangeError: the resource does not describe a sign-in that is safe, or cannot be reached.
    """
    scheme = config.auth_scheme
    # The request may come from an imported log. An address of it must not open the site's own network, and a key of it
    # must not lead tokens to another service.
    if not isinstance(scheme, ProtectedResource) or not _is_offered(scheme, config.credential_key):
        raise SignInError("No agent offers this service any more. Ask the agent again.")
    exchange = sign_in_exchange(scheme.resource)
    about = await _fetch_resource_metadata(scheme, exchange)
    issuer: str | None = None
    resource = scheme.resource
    if about:
        issuer = str(about.authorization_servers[0])
        resource = str(about.resource)
    server = await _fetch_server_metadata(issuer, scheme.resource, exchange)
    wanted = " ".join(scheme.scopes or ()) or None
    scope = get_client_metadata_scopes(wanted, about, server, DEFAULT_GRANT_TYPES)
    client = client_of_issuer(str(server.issuer))
    if client is None:
        client = await _register_client(server, redirect_uri, client_name, scope, exchange)
    client = client.model_copy(
        update={
            "redirect_uri": redirect_uri,
            "state": secrets.token_urlsafe(32),
            "code_verifier": PKCEParameters.generate().code_verifier,
            "issuer": str(server.issuer),
            "token_url": str(server.token_endpoint),
            "revocation_url": str(server.revocation_endpoint) if server.revocation_endpoint else None,
            "resource": resource,
            "scope": scope,
        }
    )
    endpoints = Endpoints(str(server.authorization_endpoint), scopes=tuple((scope or "").split()))
    url = consent_page(client, endpoints) or ""
    return SignIn(url, client, bool(server.authorization_response_iss_parameter_supported))


def _is_offered(scheme: ProtectedResource, key: str) -> bool:
    return (scheme.resource, key) in _offered and is_allowed_url(scheme.resource)


async def _fetch_resource_metadata(
    scheme: ProtectedResource, exchange: HttpExchange
) -> ProtectedResourceMetadata | None:
    """Return what the resource says about itself (RFC 9728); None for an older server, which is its own issuer."""
    for url in build_protected_resource_metadata_discovery_urls(scheme.metadata_url, scheme.resource):
        about = await _fetch_metadata(url, ProtectedResourceMetadata, exchange)
        if about is None:
            continue
        if not check_resource_allowed(scheme.resource, str(about.resource)):
            raise SignInError("The service describes the sign-in of another service. It was not used.")
        return about
    return None


async def _fetch_server_metadata(issuer: str | None, resource: str, exchange: HttpExchange) -> OAuthMetadata:
    """Return the metadata of the authorization server (RFC 8414).

    Raises:
        SignInError: there are none, another server's, or they offer no sign-in that is safe.
    """
    expected = issuer or origin_of(resource)
    for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, resource):
        server = await _fetch_metadata(url, OAuthMetadata, exchange)
        if server is None:
            continue
        if not same_issuer(str(server.issuer), expected):
            raise SignInError("The service names another authorization server than the one asked for.")
        if "S256" not in (server.code_challenge_methods_supported or ()):
            raise SignInError("The service does not protect sign-ins by PKCE with S256.")
        for endpoint in (
            server.authorization_endpoint,
            server.token_endpoint,
            server.registration_endpoint,
            server.revocation_endpoint,
        ):
            if endpoint:
                _check_encrypted(str(endpoint), exchange)
        return server
    raise SignInError("The service does not say how to sign in.")


async def _register_client(
    server: OAuthMetadata, redirect_uri: str, client_name: str, scope: str | None, exchange: HttpExchange
) -> OAuth2Auth:
    """Register a client for this sign-in (RFC 7591)."""
    if server.registration_endpoint is None:
        raise SignInError(
            f"The service registers no clients. The people who run this site have to configure one for {server.issuer}."
        )
    methods = server.token_endpoint_auth_methods_supported or ["client_secret_basic"]
    method = next((name for name in ("none", "client_secret_post") if name in methods), "client_secret_basic")
    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(redirect_uri)],
        token_endpoint_auth_method=method,
        application_type="web",
        client_name=client_name,
        scope=scope,
    )
    body = metadata.model_dump_json(exclude_none=True).encode()
    request = HttpRequest(
        "POST", str(server.registration_endpoint), {"Content-Type": "application/json"}, body
    )
    answer = await exchange.send(request)
    try:
        client: OAuthClientInformationFull = await handle_registration_response(
            httpx2.Response(answer.status, content=answer.body)
        )
        check_registration_usable(client)
    except OAuthRegistrationError:  # Its text may quote the answer.
        raise SignInError(NOT_ACCEPTED) from None
    if len(client.client_id) + len(client.client_secret or "") > MAX_CLIENT_CHARACTERS:
        raise SignInError(NOT_ACCEPTED)
    return OAuth2Auth(
        client_id=client.client_id,
        client_secret=client.client_secret,
        token_endpoint_auth_method=client.token_endpoint_auth_method,
    )


async def _fetch_metadata(url: str, model: type[M], exchange: HttpExchange) -> M | None:
    """Return a metadata document; None if there is none at this address.

    Raises:
        ExchangeError: the address cannot be reached or must not be, or the document is too large.
    """
    _check_encrypted(url, exchange)
    answer = await exchange.send(HttpRequest("GET", url, {"Accept": "application/json"}))
    if answer.status >= 500:
        raise SignInError(
            f"The service failed to say how to sign in (status {answer.status}). Try again later."
        )
    if answer.is_cut:
        raise SignInError(f"The service's description has more than {MAX_METADATA_BYTES} bytes.")
    if answer.status != 200:
        return None
    try:
        return model.model_validate_json(answer.body)
    except ValidationError:
        return None


def _check_encrypted(url: str, exchange: HttpExchange) -> None:
    if not url.startswith("https://") and origin_of(url) not in exchange.internal_origins:
        raise SignInError(
            "The service's sign-in is not encrypted: an address of it does not begin with https."
        )
