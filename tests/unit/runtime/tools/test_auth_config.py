"""Contract T8: schemes, credentials, and the state key of a credential."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field, ValidationError

from runtime.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
)
from runtime.auth.auth_schemes import (
    APIKey,
    AuthScheme,
    AuthSchemeType,
    HTTPBase,
    HTTPBearer,
    OAuth2,
    OAuthFlow,
    OAuthFlows,
    OpenIdConnect,
    OpenIdConnectWithConfig,
)
from runtime.auth.auth_tool import AuthConfig, AuthToolArguments

FLOW = OAuthFlow(authorization_url="https://id/auth", token_url="https://id/token", scopes={"read": "Read"})
SCHEMES = [
    APIKey(in_="header", name="X-Key"),
    HTTPBearer(bearer_format="JWT"),
    HTTPBase(scheme="basic"),
    OAuth2(flows=OAuthFlows(authorization_code=FLOW)),
    OpenIdConnect(open_id_connect_url="https://id/.well-known"),
    OpenIdConnectWithConfig(authorization_endpoint="https://id/auth", token_endpoint="https://id/token"),
]


def oauth(secret: str = "s3cret", **fields: str) -> AuthCredential:
    return AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2,
        oauth2=OAuth2Auth(client_id="shop", client_secret=secret, **fields),
    )


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: type(scheme).__name__)
def test_every_scheme_keeps_its_class_through_json(scheme: AuthScheme) -> None:
    arguments = AuthToolArguments(function_call_id="c1", auth_config=AuthConfig(auth_scheme=scheme))
    loaded = AuthToolArguments.model_validate_json(arguments.model_dump_json(by_alias=True))
    assert loaded == arguments
    assert type(loaded.auth_config.auth_scheme) is type(scheme)


def test_schemes_have_the_json_of_openapi() -> None:
    assert APIKey(in_="header", name="X-Key").model_dump(mode="json", by_alias=True, exclude_none=True) == {
        "type": "apiKey",
        "in": "header",
        "name": "X-Key",
    }


def test_equal_configs_have_the_same_credential_key_and_a_given_key_is_kept() -> None:
    first, second = (AuthConfig(auth_scheme=SCHEMES[3], raw_auth_credential=oauth()) for _ in range(2))
    assert first.credential_key == second.credential_key
    given = AuthConfig(auth_scheme=SCHEMES[3], credential_key="mine")
    assert given.credential_key == "mine"


def test_the_credential_key_depends_on_scheme_and_client_but_not_on_secrets() -> None:
    keys = {AuthConfig(auth_scheme=scheme).credential_key for scheme in SCHEMES}
    assert len(keys) == len(SCHEMES)
    key = AuthConfig(auth_scheme=SCHEMES[3], raw_auth_credential=oauth()).credential_key
    assert key not in keys
    rotated = oauth(secret="other", auth_code="code", state="xyz")
    assert AuthConfig(auth_scheme=SCHEMES[3], raw_auth_credential=rotated).credential_key == key


def test_secrets_are_not_in_the_repr() -> None:
    http = HttpAuth(scheme="basic", credentials=HttpCredentials(username="ada", password="pw-1"))
    credential = AuthCredential(
        auth_type="http",
        api_key="key-1",
        http=http,
        oauth2=OAuth2Auth(access_token="tok-1", client_secret="cs-1"),
    )
    shown = repr(credential)
    assert "ada" in shown
    assert not any(secret in shown for secret in ("pw-1", "key-1", "tok-1", "cs-1"))


def test_a_misspelt_field_is_an_error() -> None:
    with pytest.raises(ValidationError, match="api_kee"):
        AuthCredential.model_validate({"auth_type": "apiKey", "api_kee": "x"})


class ForeignFlow(BaseModel):
    """A flow as other libraries model OpenAPI: named like its JSON."""

    authorizationUrl: str = "https://id/auth"
    tokenUrl: str = "https://id/token"
    refreshUrl: str | None = None
    scopes: dict[str, str] = {"read": "Read"}


class ForeignFlows(BaseModel):
    implicit: ForeignFlow | None = None
    authorizationCode: ForeignFlow = ForeignFlow()


class ForeignOAuth2(BaseModel):
    type_: AuthSchemeType = Field(default=AuthSchemeType.OAUTH2, alias="type")
    description: str | None = None
    flows: ForeignFlows = ForeignFlows()


class ForeignKey(BaseModel):
    type_: AuthSchemeType = Field(default=AuthSchemeType.API_KEY, alias="type")
    in_: str = Field(default="header", alias="in")
    name: str = "X-Key"


@pytest.mark.parametrize(
    ("foreign", "own"),
    [
        (ForeignOAuth2(), OAuth2(flows=OAuthFlows(authorization_code=FLOW))),
        (ForeignKey(), APIKey(in_="header", name="X-Key")),
    ],
    ids=["oauth2", "api key"],
)
def test_a_scheme_of_a_library_that_models_openapi_is_accepted(foreign: BaseModel, own: AuthScheme) -> None:
    assert AuthConfig.model_validate({"auth_scheme": foreign}) == AuthConfig(auth_scheme=own)
