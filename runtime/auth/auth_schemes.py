"""The security schemes of OpenAPI 3: how a service asks for authentication."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class AuthModel(BaseModel):
    """A model with camelCase names in JSON and either case in Python. Unknown fields are an error."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class AuthSchemeType(StrEnum):
    """Kinds of security schemes."""

    API_KEY = "apiKey"
    HTTP = "http"
    OAUTH2 = "oauth2"
    OPEN_ID_CONNECT = "openIdConnect"


class ApiKeyLocation(StrEnum):
    """Part of a request that carries an API key."""

    QUERY = "query"
    HEADER = "header"
    COOKIE = "cookie"


class SecurityScheme(AuthModel):
    """Base of all schemes; use one of the subclasses."""

    description: str | None = None


class APIKey(SecurityScheme):
    """Key in a header, query parameter or cookie called `name`."""

    type_: Literal[AuthSchemeType.API_KEY] = Field(default=AuthSchemeType.API_KEY, alias="type")
    in_: ApiKeyLocation = Field(alias="in")
    name: str


class HTTPBase(SecurityScheme):
    """`Authorization` header with `basic`, `bearer` or another registered scheme."""

    type_: Literal[AuthSchemeType.HTTP] = Field(default=AuthSchemeType.HTTP, alias="type")
    scheme: str
    bearer_format: str | None = None


class HTTPBearer(HTTPBase):
    """A bearer token in the `Authorization` header."""

    scheme: Literal["bearer"] = "bearer"


class OAuthFlow(AuthModel):
    """OAuth 2 flow. Each flow needs a different subset of the URLs."""

    authorization_url: str | None = None
    token_url: str | None = None
    refresh_url: str | None = None
    scopes: dict[str, str] = Field(default_factory=dict)


class OAuthFlows(AuthModel):
    """Flows offered by a service."""

    implicit: OAuthFlow | None = None
    password: OAuthFlow | None = None
    client_credentials: OAuthFlow | None = None
    authorization_code: OAuthFlow | None = None


class OAuth2(SecurityScheme):
    """OAuth 2."""

    type_: Literal[AuthSchemeType.OAUTH2] = Field(default=AuthSchemeType.OAUTH2, alias="type")
    flows: OAuthFlows


class OpenIdConnect(SecurityScheme):
    """OpenID Connect; the endpoints are discovered at `open_id_connect_url`."""

    type_: Literal[AuthSchemeType.OPEN_ID_CONNECT] = Field(
        default=AuthSchemeType.OPEN_ID_CONNECT, alias="type"
    )
    open_id_connect_url: str


class OpenIdConnectWithConfig(SecurityScheme):
    """OpenID Connect with explicit endpoints."""

    type_: Literal[AuthSchemeType.OPEN_ID_CONNECT] = Field(
        default=AuthSchemeType.OPEN_ID_CONNECT, alias="type"
    )
    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: str | None = None
    revocation_endpoint: str | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    grant_types_supported: list[str] | None = None
    scopes: list[str] | None = None


class ProtectedResource(SecurityScheme):
    """OAuth 2.1 of a resource that names its authorization server itself (RFC 9728), such as an MCP server.

    Attributes:
        resource: address of the resource.
        scopes: scopes to ask for; None: those that the resource names.
        metadata_url: address of the resource's metadata, from its answer 401; None: the well-known addresses.
    """

    type_: Literal[AuthSchemeType.OAUTH2] = Field(default=AuthSchemeType.OAUTH2, alias="type")
    resource: str
    scopes: list[str] | None = None
    metadata_url: str | None = None


# HTTPBearer before HTTPBase: pydantic prefers the leftmost class of those that fit equally well.
AuthScheme = (
    APIKey | HTTPBearer | HTTPBase | OAuth2 | OpenIdConnect | OpenIdConnectWithConfig | ProtectedResource
)
