"""Credential service on the state of the session."""

from typing import Any

from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_tool import AuthConfig
from runtime.auth.credential_service.base_credential_service import BaseCredentialService, CredentialContext


class SessionStateCredentialService(BaseCredentialService):
    """Keep credentials as values of the session's state, in plain text.

    All readers of the session can read the credentials: pages, exports, instructions. The OAuth client's secret is not
    stored; `load_credential` takes it from the config.
    """

    async def load_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext
    ) -> AuthCredential | None:
        stored = callback_context.state.get(auth_config.credential_key)
        if stored is None:
            return None
        raw = auth_config.raw_auth_credential
        client_secret = raw.oauth2.client_secret if raw and raw.oauth2 else None
        return _with_client_secret(AuthCredential.model_validate(stored), client_secret)

    async def save_credential(self, auth_config: AuthConfig, callback_context: CredentialContext) -> None:
        """Write the config's `exchanged_auth_credential` to the session's state, even if it is None."""
        credential = auth_config.exchanged_auth_credential
        # State keys cannot be deleted, so None replaces a credential.
        callback_context.state[auth_config.credential_key] = credential and _as_json(credential)


def _as_json(credential: AuthCredential) -> dict[str, Any]:
    # Users can read the state, and the client's secret is the site's.
    plain = _with_client_secret(credential, None)
    return plain.model_dump(mode="json", by_alias=True, exclude_none=True)


def _with_client_secret(credential: AuthCredential, client_secret: str | None) -> AuthCredential:
    if credential.oauth2 is None:
        return credential
    oauth2 = credential.oauth2.model_copy(update={"client_secret": client_secret})
    return credential.model_copy(update={"oauth2": oauth2})
