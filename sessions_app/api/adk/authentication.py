"""Authentication of ADK's addresses: a key, else a browser's sign-in with its CSRF token."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

from sessions_app.api.access.authentication import KeyAuth, SignInAuth


class TokenAuth(SignInAuth):
    """A browser's sign-in. A write needs the CSRF token, in Django's header or in that of Angular."""

    def _get_key(self, request: HttpRequest) -> str | None:
        # adk-web sends the token under Angular's name. django-ninja checks it when it reads the cookie.
        if token := request.META.get("HTTP_X_XSRF_TOKEN"):
            request.META.setdefault(settings.CSRF_HEADER_NAME, token)
        return super()._get_key(request)


AUTHENTICATION = (KeyAuth(), TokenAuth())
