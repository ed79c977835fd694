"""SessionStateCredentialService keeps credentials in the session's state (contract T8)."""

from __future__ import annotations

from runtime.auth import AuthConfig, AuthCredential, AuthCredentialTypes, OAuth2Auth
from runtime.auth.auth_schemes import OAuth2, OAuthFlows
from runtime.auth.credential_service.session_state_credential_service import SessionStateCredentialService
from runtime.sessions import InMemorySessionService
from tests.contracts.credential_service import context_of


def oauth(**fields: str) -> AuthCredential:
    return AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(**fields))


async def test_the_token_is_json_in_the_state_and_the_clients_secret_is_not() -> None:
    """Contract T8."""
    config = AuthConfig(
        auth_scheme=OAuth2(flows=OAuthFlows()),
        raw_auth_credential=oauth(client_id="site", client_secret="s3cret"),
        exchanged_auth_credential=oauth(client_id="site", client_secret="s3cret", access_token="t-1"),
    )
    context = await context_of(SessionStateCredentialService(), InMemorySessionService(), "ada")
    assert await context.load_credential(config) is None
    await context.save_credential(config)
    assert context.actions.state_delta == {
        config.credential_key: {"authType": "oauth2", "oauth2": {"clientId": "site", "accessToken": "t-1"}}
    }
    assert await context.load_credential(config) == config.exchanged_auth_credential
