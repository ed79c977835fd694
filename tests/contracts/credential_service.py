"""Contract of credential services (T8). Run by test_in_memory.py and test_django.py.

Both provide the fixtures `credentials` (the service), `sessions`, `ada` and `bob` (ids of existing users).
"""

from __future__ import annotations

from runtime.agents import BaseAgent, InvocationContext
from runtime.auth import AuthConfig, AuthCredential, AuthCredentialTypes
from runtime.auth.auth_schemes import APIKey, ApiKeyLocation
from runtime.auth.credential_service.base_credential_service import BaseCredentialService
from runtime.context import Context
from runtime.sessions import BaseSessionService

SCHEME = APIKey.model_validate({"in": ApiKeyLocation.HEADER, "name": "X-Key"})


def config(key: str | None = None, name: str = "shop_key") -> AuthConfig:
    """Return the config of an API key, with the credential to save."""
    given = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=key) if key else None
    return AuthConfig(auth_scheme=SCHEME, credential_key=name, exchanged_auth_credential=given)


async def context_of(
    credentials: BaseCredentialService, sessions: BaseSessionService, user_id: str, app_name: str = "shop"
) -> Context:
    """Return the context of a callback in a new session."""
    session = await sessions.create_session(app_name=app_name, user_id=user_id)
    invocation = InvocationContext(
        invocation_id="e-1",
        agent=BaseAgent(name="clerk"),
        session=session,
        session_service=sessions,
        credential_service=credentials,
    )
    return Context(invocation)


class CredentialServiceContract:
    """Contract T8: what a person gave is found in later sessions of the same person and app."""

    async def test_a_saved_credential_is_found_in_another_session(
        self, credentials: BaseCredentialService, sessions: BaseSessionService, ada: str
    ) -> None:
        """Contract T8."""
        await (await context_of(credentials, sessions, ada)).save_credential(config("k-1"))
        found = await (await context_of(credentials, sessions, ada)).load_credential(config())
        assert found is not None and found.api_key == "k-1"

    async def test_a_credential_of_another_person_app_or_key_is_not_found(
        self, credentials: BaseCredentialService, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        mine = await context_of(credentials, sessions, ada)
        await mine.save_credential(config("k-1"))
        assert await (await context_of(credentials, sessions, bob)).load_credential(config()) is None
        other_app = await context_of(credentials, sessions, ada, app_name="library")
        assert await other_app.load_credential(config()) is None
        assert await mine.load_credential(config(name="other_key")) is None

    async def test_changes_of_a_credential_in_hand_do_not_reach_the_stored_one(
        self, credentials: BaseCredentialService, sessions: BaseSessionService, ada: str
    ) -> None:
        context = await context_of(credentials, sessions, ada)
        given = config("k-1")
        assert given.exchanged_auth_credential is not None
        await context.save_credential(given)
        given.exchanged_auth_credential.api_key = "k-2"
        found = await context.load_credential(config())
        assert found is not None and found.api_key == "k-1"
        found.api_key = "k-3"
        again = await context.load_credential(config())
        assert again is not None and again.api_key == "k-1"

    async def test_saving_again_replaces_and_saving_nothing_deletes(
        self, credentials: BaseCredentialService, sessions: BaseSessionService, ada: str
    ) -> None:
        context = await context_of(credentials, sessions, ada)
        await context.save_credential(config("k-1"))
        await context.save_credential(config("k-2"))
        found = await context.load_credential(config())
        assert found is not None and found.api_key == "k-2"
        await context.save_credential(config())
        assert await context.load_credential(config()) is None
