"""The credential of a call: configured by the author, given by the person, or exchanged for a token (contract T8).

    configured key or token ----------------------------------------> request
    given by the person in this invocation -------------------------> request
    token of the person's earlier sign-in, renewed if it has ended -> request
    code of the person, or the client's registration -> token ------> request
    none of these -> ask the person; the call is rerun with the answer

A credential stays in the memory of the invocation. The tokens of a sign-in go to the credential service, too, if there
is one: it keeps them for later invocations and jobs, and lets one process at a time renew them.
"""

from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from runtime.auth.auth_schemes import (
    AuthScheme,
    OAuth2,
    OpenIdConnect,
    OpenIdConnectWithConfig,
    ProtectedResource,
)
from runtime.auth.auth_tool import AuthConfig
from runtime.auth.placement import Placement, place
from runtime.context import Context, ReadonlyContext
from runtime.tools.openapi_tool.auth.oauth_exchange import (
    Endpoints,
    RefusedError,
    consent_page,
    find_endpoints,
    has_expired,
    request_token,
)
from runtime.tools.openapi_tool.http_exchange import ExchangeError, HttpExchange

_TOKENS = {"access_token", "refresh_token", "scope", "expires_at"}


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

    @property
    def credential_key(self) -> str | None:
        """Key of the person's credential; None without a scheme."""
        if self._config is None:
            return None
        return self._config.credential_key

    @property
    def _own_client(self) -> OAuth2Auth | None:
        """The author's client data."""
        if self._credential is None:
            return None
        return self._credential.oauth2

    async def authorize(self, context: Context | None) -> Placement | None:
        """Return the credential's place in the request; None if the person was asked for a credential.

        Raises:
            ExchangeError: the authorization server refused the credential. The next call asks the person again.
        """
        placed = await self.find(context)
        if placed is None and context:
            await self.ask(context)
        return placed

    async def sign_in_before_job(self, context: Context) -> bool:
        """Return True if a job can get the person's tokens; otherwise ask the person to sign in."""
        return not _signs_in(self._scheme) or await self.authorize(context) is not None

    async def find(self, context: ReadonlyContext | None) -> Placement | None:
        """Return the credential's place in the request; None if the person has to be asked for a credential.

        Raises:
            ExchangeError: the authorization server failed, or refused the credential.
        """
        if self._credential:
            direct = place(self._scheme, self._credential)
            if direct:
                return direct
        if self._config is None or context is None:
            return Placement()
        # Concurrent calls of a step share a code, and most codes can be exchanged only once.
        async with context.invocation.scope.credential_lock:
            given = context.get_credential(self._config.credential_key)
            if given is None:
                given = await self._load_tokens(context, self._config)
            if given and given.oauth2 and has_expired(given.oauth2):
                given = await self._renew_tokens(context, self._config, given)
            if given and (placed := place(self._scheme, given)):
                return placed
            return await self._exchange_code(context, self._config, given)

    async def replace(self, context: ReadonlyContext | None, refused: Placement) -> Placement | None:
        """Return a renewed token in place of one that the service has refused; None if the person has to be asked.

        Raises:
            ExchangeError: the authorization server failed.
        """
        if context is None or self._config is None:
            return None
        async with context.invocation.scope.credential_lock:
            given = context.get_credential(self._config.credential_key)
            if given is None:
                return None
            # Another call of the step may have renewed it in the meantime.
            placed = place(self._scheme, given)
            if placed == refused:
                given = await self._renew_tokens(context, self._config, given)
                if given is None:
                    return None
                placed = place(self._scheme, given)
            return placed

    async def ask(self, context: Context, scheme: AuthScheme | None = None) -> None:
        """Ask the person for a credential; `scheme` tells more than the author's scheme about the same service."""
        config = self._config
        if config is None:
            return
        if scheme:
            config = config.model_copy(update={"auth_scheme": scheme})
        client = self._own_client
        if self._credential and client and not client.auth_uri:
            endpoints = await find_endpoints(config.auth_scheme, self._exchange)
            found = {"auth_uri": consent_page(client, endpoints), "issuer": endpoints.issuer}
            credential = self._credential.model_copy(update={"oauth2": client.model_copy(update=found)})
            config = config.model_copy(update={"raw_auth_credential": credential})
        context.request_credential(config)

    async def _load_tokens(self, context: ReadonlyContext, config: AuthConfig) -> AuthCredential | None:
        """Return the tokens of an earlier sign-in, or None."""
        service = context.invocation.credential_service
        if service is None or not _signs_in(self._scheme):
            return None
        saved = await service.load_credential(config, _with_state(context))
        if saved:
            context.invocation.scope.credentials[config.credential_key] = saved
        return saved

    async def _renew_tokens(
        self, context: ReadonlyContext, config: AuthConfig, old: AuthCredential
    ) -> AuthCredential | None:
        """Renew the saved tokens, unless another process has done so; forget them if they cannot be renewed."""
        refused: str | None = None
        if old.oauth2:
            refused = old.oauth2.access_token

        async def renew(saved: AuthCredential) -> AuthCredential | None:
            tokens = saved.oauth2
            if tokens is None or not tokens.access_token:
                return saved
            if tokens.access_token != refused and not has_expired(tokens):
                return saved
            return await self._refresh_tokens(config, saved, tokens)

        scope = context.invocation.scope
        scope.credentials.pop(config.credential_key, None)
        service = context.invocation.credential_service
        if service is None or not _signs_in(self._scheme):
            return None
        renewed = await service.renew_credential(config, _with_state(context), renew)
        if renewed:
            scope.credentials[config.credential_key] = renewed
        return renewed

    async def _refresh_tokens(
        self, config: AuthConfig, saved: AuthCredential, tokens: OAuth2Auth
    ) -> AuthCredential | None:
        if not tokens.refresh_token:
            return None
        if tokens.token_url:
            endpoints = Endpoints(token_url=tokens.token_url)
        else:
            endpoints = await find_endpoints(config.auth_scheme, self._exchange)
        try:
            new = await request_token(self._merge_client(saved) or tokens, endpoints, self._exchange)
        except RefusedError:
            return None
        if new is None:
            return None
        oauth2 = tokens.model_copy(update=new.model_dump(include=_TOKENS))
        return saved.model_copy(update={"oauth2": oauth2})

    async def _exchange_code(
        self, context: ReadonlyContext, config: AuthConfig, given: AuthCredential | None
    ) -> Placement | None:
        """Return the token for the given code or for the configured client; None without code and client."""
        client = self._merge_client(given)
        if client is None:
            return None
        endpoints = await find_endpoints(config.auth_scheme, self._exchange)
        scope = context.invocation.scope
        try:
            token = await request_token(client, endpoints, self._exchange)
        except ExchangeError:
            scope.credentials.pop(config.credential_key, None)
            raise
        if token is None:
            return None
        token.revocation_url = endpoints.revocation_url
        # A token is as secret as the credential that it was exchanged for: see the module's docstring.
        credential = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=token)
        scope.credentials[config.credential_key] = credential
        service = context.invocation.credential_service
        if given and service:
            kept = config.model_copy(update={"exchanged_auth_credential": credential})
            await service.save_credential(kept, _with_state(context))
        return Placement(headers={"Authorization": f"Bearer {token.access_token}"})

    def _merge_client(self, given: AuthCredential | None) -> OAuth2Auth | None:
        """Return the author's client data, updated by the person's answer."""
        own = self._own_client
        if given is None or given.oauth2 is None:
            return own
        answer = given.oauth2
        if own is None:
            return answer
        return own.model_copy(update=answer.model_dump(exclude_none=True))


def _signs_in(scheme: AuthScheme | None) -> bool:
    """Return True for a scheme by which a person signs in elsewhere."""
    if isinstance(scheme, OAuth2):
        return scheme.flows.authorization_code is not None
    return isinstance(scheme, OpenIdConnect | OpenIdConnectWithConfig | ProtectedResource)


def _with_state(context: ReadonlyContext) -> Context:
    # A service may keep credentials in the state. A toolset's context cannot change it, so they are kept for now only.
    if isinstance(context, Context):
        return context
    return Context(context.invocation)
