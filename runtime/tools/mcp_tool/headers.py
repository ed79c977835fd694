"""Headers of requests to an MCP server: the toolset's credential, and headers computed by its author."""

from __future__ import annotations

from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes
from runtime.auth.auth_schemes import AuthScheme
from runtime.auth.placement import place
from runtime.context import ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.tools.header_provider import HeaderProvider, Headers, provided_headers


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
    """Headers of each request: the provider's headers, overridden by the credential's headers."""

    def __init__(
        self, provider: HeaderProvider | None, scheme: AuthScheme | None, credential: AuthCredential | None
    ) -> None:
        self._provider = provider
        self._credential_headers = credential_headers(scheme, credential)

    async def headers(self, context: ReadonlyContext | None) -> Headers:
        """Return the headers for an invocation. Without a context, do not call the provider."""
        return {**await provided_headers(self._provider, context), **self._credential_headers}
