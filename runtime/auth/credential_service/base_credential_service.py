"""BaseCredentialService: storage for the credentials of a user in an app (contract T8)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import MutableMapping
from typing import Any, Protocol

from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_tool import AuthConfig


class CredentialContext(Protocol):
    """Context of a callback or tool call, as credential services see it. Implemented by `runtime.context.Context`."""

    @property
    def app_name(self) -> str: ...

    @property
    def user_id(self) -> str: ...

    @property
    def state(self) -> MutableMapping[str, Any]: ...


class BaseCredentialService(ABC):
    """Store credentials by app, user and the config's `credential_key`."""

    @abstractmethod
    async def load_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext
    ) -> AuthCredential | None:
        """Return the stored credential of the context's user, or None."""

    @abstractmethod
    async def save_credential(self, auth_config: AuthConfig, callback_context: CredentialContext) -> None:
        """Store the config's `exchanged_auth_credential`; if it is None, delete the stored credential."""
