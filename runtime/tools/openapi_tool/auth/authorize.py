"""The credential of a call: configured by the author, given by the person, or exchanged for a token (contract T8).

    configured key or token ----------------------------------------> request
    given by the person in this invocation -------------------------> request
    code of the person, or the client's registration -> token ------> request
    none of these -> ask the person; the call is rerun with the answer

Credentials and tokens stay in the memory of the invocation only.
"""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import urlencode

from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from runtime.auth.auth_schemes import AuthScheme
from runtime.auth.auth_tool import AuthConfig
from runtime.auth.placement import Placement, place
from runtime.context import Context
from runtime.tools.openapi_tool.auth.oauth_exchange import Endpoints, find_endpoints, request_token
from runtime.tools.openapi_tool.http_exchange import ExchangeError, HttpExchange


class Authorizer:
    """Finds the credential for the calls of a tool."""

    def __init__(
        self,
        scheme: AuthScheme | None,
        credential: AuthCredential | None,
        key: str | None,
        exchange: HttpExchange,
    ) -> None:
        self._credential = credential
        self._exchange = exchange
        self._config: AuthConfig | None = None
        self._scheme: AuthScheme | None = None
        if scheme:
            self._config = AuthConfig(
                auth_scheme=scheme, raw_auth_credential=credential, credential_key=key or ""
            )
            self._scheme = self._config.auth_scheme  # The config converts models of other libraries.

    async def authorize(self, context: Context | None) -> Placement | None:
        """Return the credential's place in the request; None if the person was asked for a credential.

        Raises:
            ExchangeError: the authorization server refused the credential. The next call asks the person again.
        """
        direct = place(self._scheme, self._credential) if self._credential else None
        if direct or self._config is None or context is None:
            return direct or Placement()
        # Concurrent calls of a step share a code, and most codes can be exchanged only once.
        async with context.invocation.scope.credential_lock:
            given = context.get_auth_response(self._config)
            if given and (placed := place(self._scheme, given)):
                return placed
            placed = await self._exchanged(context, self._config, given)
        if placed is None:
            await self._ask(context, self._config)
        return placed

    def forget(self, context: Context | None) -> None:
        """Forget a refused credential, so the next call asks for another."""
        if context and self._config:
            context.invocation.scope.credentials.pop(self._config.credential_key, None)

    async def _exchanged(
        self, context: Context, config: AuthConfig, given: AuthCredential | None
    ) -> Placement | None:
        """Return the token for the given code or for the configured client; None without code and client."""
        client = self._merged_client(given)
        if client is None:
            return None
        endpoints = await find_endpoints(config.auth_scheme, self._exchange)
        try:
            token = await request_token(client, endpoints, self._exchange)
        except ExchangeError:
            self.forget(context)
            raise
        if token is None:
            return None
        # A token is as secret as the credential that it was exchanged for: see the module's docstring.
        context.invocation.scope.credentials[config.credential_key] = AuthCredential(
            auth_type=AuthCredentialTypes.OAUTH2, oauth2=token
        )
        return Placement(headers={"Authorization": f"Bearer {token.access_token}"})

    def _merged_client(self, given: AuthCredential | None) -> OAuth2Auth | None:
        """Return the author's client data, updated by the person's answer."""
        own = self._credential.oauth2 if self._credential else None
        answer = given.oauth2 if given else None
        if own is None or answer is None:
            return answer or own
        return own.model_copy(update=answer.model_dump(exclude_none=True))

    async def _ask(self, context: Context, config: AuthConfig) -> None:
        client = self._credential.oauth2 if self._credential else None
        if self._credential and client and not client.auth_uri:
            endpoints = await find_endpoints(config.auth_scheme, self._exchange)
            linked = client.model_copy(update={"auth_uri": _consent_page(client, endpoints)})
            credential = self._credential.model_copy(update={"oauth2": linked})
            config = config.model_copy(update={"raw_auth_credential": credential})
        context.request_credential(config)


def _consent_page(client: OAuth2Auth, endpoints: Endpoints) -> str | None:
    """Return the address of the page where the person grants access, or None."""
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
    }
    if client.code_verifier:
        query["code_challenge"] = _challenge(client.code_verifier)
        query["code_challenge_method"] = "S256"
    joint = "&" if "?" in endpoints.authorization_url else "?"
    return endpoints.authorization_url + joint + urlencode({k: v for k, v in query.items() if v})


def _challenge(verifier: str) -> str:
    """Return the hash of a verifier (RFC 7636, section 4.2)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
