"""Headers of requests to an MCP server: the toolset's credential, and headers computed by its author."""

import httpx2

from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes
from runtime.auth.auth_schemes import AuthScheme, ProtectedResource
from runtime.auth.placement import Placement, place
from runtime.context import Context, ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.tools.header_provider import HeaderProvider, Headers, provided_headers
from runtime.tools.mcp_tool.sign_in import offer, protected_resource, with_challenge
from runtime.tools.openapi_tool.auth.authorize import Authorizer
from runtime.tools.openapi_tool.auth.sign_in import sign_in_exchange


def credential_headers(scheme: AuthScheme | None, credential: AuthCredential | None) -> Headers:
    """Return the headers for a credential that needs no exchange: a key, a token, or a name and password.

    Raises:
        ConfigurationError: the credential does not fit into a header, or is a key without a scheme to name the header.
    """
    if credential is None:
        return {}
    if credential.auth_type == AuthCredentialTypes.API_KEY and scheme is None:
        raise ConfigurationError(
            "The API key of the toolset has no scheme that names its header. Give the toolset an auth_scheme, such "
            "as APIKey(in_='header', name='X-API-Key'), or HTTPBearer() for a bearer token."
        )
    placed = place(scheme, credential)
    if placed is None or not placed.headers:
        raise ConfigurationError(
            f"An MCP server gets its credential in a header, but the {credential.auth_type.value} credential of the "
            "toolset has no key or token for one. Give the toolset a header_provider that returns the headers."
        )
    return placed.headers


class HeaderSource:
    """Headers of each request: the provider's headers, overridden by the credential's headers.

    Without a credential of the author, the person signs in when the server asks for it.

    Args:
        url: address of the server; empty for a program, which takes no headers.
    """

    def __init__(
        self,
        provider: HeaderProvider | None,
        scheme: AuthScheme | None,
        credential: AuthCredential | None,
        key: str | None = None,
        url: str = "",
    ) -> None:
        self._provider = provider
        self._credential_headers: Headers = {}
        self._authorizer: Authorizer | None = None
        if credential and (credential.oauth2 is None or credential.oauth2.access_token):
            self._credential_headers = credential_headers(scheme, credential)
        elif credential and (scheme is None or isinstance(scheme, ProtectedResource)):
            # The secret would go to whatever authorization server the resource names.
            raise ConfigurationError(
                "An OAuth client of a toolset needs the auth_scheme with the addresses of its authorization server. "
                "Leave it out for a server that names them itself; its clients are in ADK['oauth_clients']."
            )
        # The author's provider decides on the headers, so its tokens are the author's, too.
        elif url and provider is None:
            self._scheme = scheme or protected_resource(url)
            self._authorizer = Authorizer(self._scheme, credential, key, sign_in_exchange(url))
            if isinstance(self._scheme, ProtectedResource):
                offer(self._scheme, self._authorizer.credential_key)

    async def headers(self, context: ReadonlyContext | None) -> Headers:
        """Return the headers for an invocation. Without a context, do not call the provider."""
        return {**await provided_headers(self._provider, context), **self._credential_headers}

    async def token(self, context: ReadonlyContext | None, refused: Headers | None = None) -> Headers:
        """Return the header with the person's token, a new one if `refused` was refused; empty without a token.

        Raises:
            ExchangeError: the authorization server failed.
        """
        if self._authorizer is None or context is None:
            return {}
        if refused:
            placed = await self._authorizer.replace(context, Placement(headers=refused))
        else:
            placed = await self._authorizer.find(context)
        return placed.headers if placed else {}

    @property
    def credential_key(self) -> str | None:
        """Key of the person's credential; None if the author decides on the credential."""
        return self._authorizer.credential_key if self._authorizer else None

    async def ask(self, context: Context, challenge: httpx2.Response) -> bool:
        """Ask the person to sign in; return False if the author decides on the credential."""
        if self._authorizer is None:
            return False
        scheme = self._scheme
        if isinstance(scheme, ProtectedResource):
            kept = context.get_credential(self._authorizer.credential_key or "")
            granted = kept.oauth2.scope if kept and kept.oauth2 else None
            scheme = with_challenge(scheme, challenge, granted)
        await self._authorizer.ask(context, scheme)
        return True
