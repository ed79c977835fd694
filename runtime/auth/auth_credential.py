"""Credentials for a service. Secrets are left out of `repr`, so logs do not show them."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from runtime.auth.auth_schemes import AuthModel


class AuthCredentialTypes(StrEnum):
    """Kinds of credentials."""

    API_KEY = "apiKey"
    HTTP = "http"
    OAUTH2 = "oauth2"
    OPEN_ID_CONNECT = "openIdConnect"
    SERVICE_ACCOUNT = "serviceAccount"


class HttpCredentials(AuthModel):
    """User name and password, or a token."""

    username: str | None = None
    password: str | None = Field(default=None, repr=False)
    token: str | None = Field(default=None, repr=False)


class HttpAuth(AuthModel):
    """An `Authorization` header: its scheme (`basic`, `bearer` …) and its credentials.

    Attributes:
        additional_headers: headers to send with it.
    """

    scheme: str
    credentials: HttpCredentials
    additional_headers: dict[str, str] | None = Field(default=None, repr=False)


class OAuth2Auth(AuthModel):
    """OAuth 2 or OpenID Connect credential: the client's registration, the authorization code and the tokens.

    Attributes:
        auth_uri: page on which the user grants access.
        auth_response_uri: full redirect URL after the grant; its query holds the authorization code.
        expires_at: seconds since the epoch.
        scope: scopes of the token, separated by spaces.
        resource: address of the service that the token is for (RFC 8707).
        issuer: authorization server that must answer the user's browser (RFC 9207); None if it is not known.
        token_url: token endpoint of the authorization server that has given the token.
        revocation_url: its revocation endpoint (RFC 7009), or None.
        code_verifier: secret of PKCE (RFC 7636). The user's page gets its hash, the token endpoint the secret itself.
        code_challenge_method: `S256`, with a `code_verifier`; other methods are refused.
        token_endpoint_auth_method: `client_secret_basic` sends the client's secret in a header, not in the form.
    """

    client_id: str | None = None
    client_secret: str | None = Field(default=None, repr=False)
    auth_uri: str | None = None
    state: str | None = None
    redirect_uri: str | None = None
    auth_response_uri: str | None = Field(default=None, repr=False)
    auth_code: str | None = Field(default=None, repr=False)
    access_token: str | None = Field(default=None, repr=False)
    refresh_token: str | None = Field(default=None, repr=False)
    id_token: str | None = Field(default=None, repr=False)
    expires_at: int | None = None
    expires_in: int | None = None
    audience: str | None = None
    nonce: str | None = None
    prompt: str | None = None
    scope: str | None = None
    resource: str | None = None
    issuer: str | None = None
    token_url: str | None = None
    revocation_url: str | None = None
    code_verifier: str | None = Field(default=None, repr=False)
    code_challenge_method: str | None = None
    token_endpoint_auth_method: str | None = None

    @model_validator(mode="after")
    def _check_challenge(self) -> Self:
        if self.code_challenge_method not in (None, "S256"):
            raise ValueError(
                f"code_challenge_method {self.code_challenge_method!r} is not supported: use 'S256'."
            )
        if self.code_challenge_method and not self.code_verifier:
            raise ValueError("code_challenge_method needs a code_verifier: a secret of 43 to 128 characters.")
        return self


class ServiceAccountCredential(AuthModel):
    """Key file of a Google service account, reduced to the fields needed to sign a token."""

    client_email: str
    private_key: str = Field(repr=False)
    private_key_id: str = ""
    project_id: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105  # an address, not a secret


class ServiceAccount(AuthModel):
    """Google service account and its scopes. Without a key, the default credentials of the process are used."""

    service_account_credential: ServiceAccountCredential | None = None
    scopes: list[str] = Field(default_factory=list)
    use_default_credential: bool = False


class AuthCredential(AuthModel):
    """A credential; `auth_type` selects the field that is filled."""

    auth_type: AuthCredentialTypes
    resource_ref: str | None = None
    api_key: str | None = Field(default=None, repr=False)
    http: HttpAuth | None = None
    oauth2: OAuth2Auth | None = None
    service_account: ServiceAccount | None = None

    def without_secrets(self) -> "AuthCredential":
        """Return a copy with the type and, for OAuth, the fields that the user's browser needs to ask for access."""
        # A list of allowed fields: a new field is a secret until somebody decides otherwise.
        public = {"client_id", "auth_uri", "state", "redirect_uri", "audience", "issuer"}
        oauth2 = OAuth2Auth(**self.oauth2.model_dump(include=public)) if self.oauth2 else None
        return AuthCredential(auth_type=self.auth_type, resource_ref=self.resource_ref, oauth2=oauth2)
