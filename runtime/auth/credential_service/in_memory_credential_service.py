"""Credential service in process memory."""

from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_tool import AuthConfig
from runtime.auth.credential_service.base_credential_service import BaseCredentialService, CredentialContext

Key = tuple[str, str, str]


class InMemoryCredentialService(BaseCredentialService):
    """Keep copies of credentials by app, user and credential key; for tests and scripts."""

    def __init__(self) -> None:
        self._credentials: dict[Key, AuthCredential] = {}

    async def load_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext
    ) -> AuthCredential | None:
        stored = self._credentials.get(_key(auth_config, callback_context))
        return stored and stored.model_copy(deep=True)

    async def save_credential(self, auth_config: AuthConfig, callback_context: CredentialContext) -> None:
        key = _key(auth_config, callback_context)
        credential = auth_config.exchanged_auth_credential
        if credential is None:
            self._credentials.pop(key, None)
        else:
            # A copy, here and above: callers may change their credential.
            self._credentials[key] = credential.model_copy(deep=True)


def _key(auth_config: AuthConfig, context: CredentialContext) -> Key:
    return (context.app_name, context.user_id, auth_config.credential_key)
