"""BaseCredentialService: storage for the credentials of a user in an app (contract T8)."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol

from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_tool import AuthConfig

Renew = Callable[[AuthCredential], Awaitable[AuthCredential | None]]
"""Function from a stored credential to its successor, which may be the same; None to delete it."""


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

    async def renew_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext, renew: Renew
    ) -> AuthCredential | None:
        """Replace the stored credential by its successor, and return that; None if there is none.

        A service for several processes calls `renew` in one of them at a time, with what the others have stored.
        """
        stored = await self.load_credential(auth_config, callback_context)
        if stored is None:
            return None
        renewed = await renew(stored)
        if renewed != stored:
            kept = auth_config.model_copy(update={"exchanged_auth_credential": renewed})
            await self.save_credential(kept, callback_context)
        return renewed
