"""Django settings for signing in with an OpenID Connect provider, by django-allauth."""

from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

PROVIDER_ID = "sso"
APPS = [
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "adk_site.sso",  # After the others: its admin unregisters their models.
]
MIDDLEWARE = "allauth.account.middleware.AccountMiddleware"
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def require_package() -> None:
    """Raise `ImproperlyConfigured` without django-allauth or one of the packages needed for OpenID Connect."""
    if any(find_spec(name) is None for name in ("allauth", "jwt", "oauthlib", "requests")):
        raise ImproperlyConfigured(
            "SSO_SERVER_URL is set, which needs the package 'django-allauth': pip install -r requirements-sso.txt"
        )


def providers(*, name: str, server_url: str, client_id: str, secret: str) -> dict[str, Any]:
    """Return SOCIALACCOUNT_PROVIDERS with this provider.

    Raises:
        ImproperlyConfigured: SSO_CLIENT_ID is missing.
    """
    if not client_id:
        raise ImproperlyConfigured(
            "SSO_SERVER_URL is set without SSO_CLIENT_ID: set it to the id of this client."
        )
    app = {
        "provider_id": PROVIDER_ID,
        "name": name,
        "client_id": client_id,
        "secret": secret,
        "settings": {"server_url": server_url, "oauth_pkce_enabled": True},
    }
    return {"openid_connect": {"APPS": [app]}}


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL, for the content security policy."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
