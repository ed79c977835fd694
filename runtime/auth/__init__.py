"""Credentials and the security schemes that ask for them."""

from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from runtime.auth.auth_schemes import AuthScheme, AuthSchemeType, OpenIdConnectWithConfig
from runtime.auth.auth_tool import AuthConfig, AuthToolArguments

__all__ = [
    "AuthConfig",
    "AuthCredential",
    "AuthCredentialTypes",
    "AuthScheme",
    "AuthSchemeType",
    "AuthToolArguments",
    "OAuth2Auth",
    "OpenIdConnectWithConfig",
]
