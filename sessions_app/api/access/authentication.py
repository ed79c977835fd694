"""Authentication of the API: an API key as bearer token, else the sign-in of a browser with its CSRF token."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja.errors import AuthenticationError, HttpError
from ninja.security import APIKeyCookie, HttpBearer

from sessions_app.api.access.callers import Caller, Source, key_calling, person_calling
from sessions_app.asgi.origin import is_from_own_page
from sessions_app.asgi.protocol import AsgiScope
from sessions_app.errors import PermissionDeniedError


class KeyAuth(HttpBearer):
    """An API key."""

    async def authenticate(self, request: HttpRequest, token: str) -> Caller:
        return await caller_with_key(token, request)


class SignInAuth(APIKeyCookie):
    """The cookie of a browser in which somebody is signed in. A request that writes needs the CSRF token, too."""

    param_name = settings.SESSION_COOKIE_NAME

    def __call__(self, request: HttpRequest) -> Any:
        if self.param_name not in request.COOKIES:
            return None  # A program without a key: django-ninja would tell it of the CSRF token.
        try:
            return super().__call__(request)
        except HttpError as error:
            raise PermissionDeniedError(
                "The CSRF token is missing or wrong. Send that of your page as X-CSRFToken, or an API key."
            ) from error

    async def authenticate(self, request: HttpRequest, key: str | None) -> Caller | None:
        user = await request.auser()
        return person_calling(user, request) if user.is_authenticated else None


async def caller_with_key(key: str, source: Source) -> Caller:
    """Return the caller with a key; raise an AuthenticationError if the key is unknown, expired or revoked."""
    caller = await key_calling(key, source)
    if caller is None:
        raise AuthenticationError(message="The API key is unknown, expired or revoked. Make a new one.")
    return caller


def bearer_key(scope: AsgiScope) -> str | None:
    """Return the API key in the header `Authorization`; None without the header, empty for another scheme."""
    authorization = dict(scope["headers"]).get(b"authorization")
    if authorization is None:
        return None
    kind, _, key = authorization.decode("latin-1").partition(" ")
    return key.strip() if kind.lower() == "bearer" else ""


async def caller_with_bearer_key(scope: AsgiScope) -> Caller:
    """Return the caller of a request by its API key. The sign-in of a browser does not count.

    Raises:
        AuthenticationError: the request has no valid key.
        LimitExceededError: the caller has sent too many requests.
    """
    key = bearer_key(scope)
    if not key:
        raise AuthenticationError(message="Send an API key as a bearer token.")
    return await caller_with_key(key, scope)


async def caller_of_stream(scope: AsgiScope) -> Caller:
    """Return the caller of a request to an ASGI application outside of Django's handler; `user` is in the scope.

    Raises:
        AuthenticationError: the request has neither a valid key nor a sign-in.
        LimitExceededError: the caller has sent too many requests.
        PermissionDeniedError: the request comes from a page of another site.
    """
    key = bearer_key(scope)
    if key is not None:
        return await caller_with_key(key, scope)
    if not scope["user"].is_authenticated:
        raise AuthenticationError(message="Unauthorized")
    # In place of Django's CSRF check, which these requests do not pass.
    if not is_from_own_page(scope, needs_origin=scope["method"] != "GET"):
        raise PermissionDeniedError("A page of another site asks for this. Send an API key instead.")
    return person_calling(scope["user"], scope)


AUTHENTICATION = (KeyAuth(), SignInAuth())
