"""Make schemes and credentials from a key, a token or a dict."""

from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from runtime.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
)
from runtime.auth.auth_schemes import APIKey, ApiKeyLocation, AuthScheme, HTTPBearer, OpenIdConnectWithConfig
from runtime.errors import ConfigurationError

_SCHEME: TypeAdapter[AuthScheme] = TypeAdapter(AuthScheme)


def token_to_scheme_credential(
    token_type: Literal["apikey", "oauth2Token"],
    location: Literal["header", "query", "cookie"] | None = None,
    name: str | None = None,
    credential_value: str | None = None,
) -> tuple[AuthScheme, AuthCredential | None]:
    """Return scheme and credential for an API key called `name` in a `location`, or for a bearer token.

    Raises:
        ConfigurationError: an API key has no name or no known location.
    """
    if token_type == "oauth2Token":  # noqa: S105  # a kind, not a secret
        return HTTPBearer(), _bearer(credential_value) if credential_value else None
    if location not in set(ApiKeyLocation) or not name:
        raise ConfigurationError(
            f"An API key needs a name and a location (header, query or cookie), not {name!r} and {location!r}."
        )
    scheme = APIKey(in_=ApiKeyLocation(location), name=name)
    if not credential_value:
        return scheme, None
    return scheme, AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=credential_value)


def openid_dict_to_scheme_credential(
    config_dict: dict[str, Any], scopes: list[str], credential_dict: dict[str, Any]
) -> tuple[OpenIdConnectWithConfig, AuthCredential]:
    """Return scheme and credential for the configuration of an OpenID provider and the registration of a client.

    Raises:
        ConfigurationError: an endpoint, the client's id or its secret is missing.
    """
    values = list(credential_dict.values())
    # A file downloaded from Google's console wraps the registration in `web` or `installed`.
    client = values[0] if len(values) == 1 and isinstance(values[0], dict) else credential_dict
    known = {key: value for key, value in config_dict.items() if key in OpenIdConnectWithConfig.model_fields}
    try:
        scheme = OpenIdConnectWithConfig.model_validate({**known, "scopes": scopes})
        oauth2 = OAuth2Auth(
            client_id=client["client_id"],
            client_secret=client["client_secret"],
            redirect_uri=client.get("redirect_uri"),
        )
    except (ValidationError, KeyError) as error:
        raise ConfigurationError(f"The OpenID Connect configuration lacks something: {error}") from None
    return scheme, AuthCredential(auth_type=AuthCredentialTypes.OPEN_ID_CONNECT, oauth2=oauth2)


def dict_to_auth_scheme(data: dict[str, Any]) -> AuthScheme:
    """Return the scheme described by an OpenAPI security scheme object; drop extensions (`x-…`).

    Raises:
        ConfigurationError: the object is not a security scheme.
    """
    try:
        return _SCHEME.validate_python(_without_extensions(data))
    except ValidationError:
        raise ConfigurationError(
            f"The security scheme of type {data.get('type')!r} cannot be read. Use apiKey, http, oauth2 or "
            "openIdConnect with the fields that OpenAPI 3 gives them."
        ) from None


def _bearer(token: str) -> AuthCredential:
    http = HttpAuth(scheme="bearer", credentials=HttpCredentials(token=token))
    return AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=http)


def _without_extensions(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _without_extensions(item) for key, item in value.items() if not str(key).startswith("x-")}
