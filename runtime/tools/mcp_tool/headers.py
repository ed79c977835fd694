"""Headers of the requests to an MCP server: a credential of the toolset, and those that its author computes."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable

from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_schemes import APIKey, ApiKeyLocation, AuthScheme
from runtime.context import ReadonlyContext
from runtime.errors import ConfigurationError

Headers = dict[str, str]
HeaderProvider = Callable[[ReadonlyContext], Headers | Awaitable[Headers]]


def credential_headers(scheme: AuthScheme | None, credential: AuthCredential | None) -> Headers:
    """Return the headers for a credential that needs no exchange: a key, a token, or a name and password.

    Raises:
        ConfigurationError: the credential does not fit into a header.
    """
    if credential is None:
        return {}
    if credential.oauth2 and credential.oauth2.access_token:
        return {"Authorization": f"Bearer {credential.oauth2.access_token}"}
    if credential.api_key and isinstance(scheme, APIKey) and scheme.in_ is ApiKeyLocation.HEADER:
        return {scheme.name: credential.api_key}
    if credential.http:
        given = credential.http.credentials
        if given.token:
            return {"Authorization": f"{credential.http.scheme.title()} {given.token}"}
        if given.username is not None and given.password is not None:
            pair = base64.b64encode(f"{given.username}:{given.password}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
    raise ConfigurationError(
        f"An MCP server gets its credential in a header, but the {credential.auth_type.value} credential of the "
        "toolset has no key or token for one. Give the toolset a header_provider that returns the headers."
    )


class HeaderSource:
    """Headers of each request: those of the provider, if there is one, and those of the credential over them."""

    def __init__(
        self, provider: HeaderProvider | None, scheme: AuthScheme | None, credential: AuthCredential | None
    ) -> None:
        self._provider = provider
        self._credential_headers = credential_headers(scheme, credential)

    async def headers(self, context: ReadonlyContext | None) -> Headers:
        """Return the headers for an invocation. Without one, the provider is not asked."""
        provided: Headers | None = None
        if self._provider and context is not None:
            # The parameter of a provider has no fixed name.
            answer = self._provider(context)
            provided = await answer if isinstance(answer, Awaitable) else answer
        return {**(provided or {}), **self._credential_headers}
