"""The sign-in of a websocket's or an event stream's browser."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, parse_cookie

from sessions_app.asgi.protocol import Application, AsgiScope, Receive, Send
from sessions_app.process.threads import in_thread


def with_sign_in(application: Application) -> Application:
    """Wrap an application: add the browser's cookies, Django's session and the person to the scope, as Channels does.

    The `AuthMiddlewareStack` of Channels keeps 3 KB more for each connection, and looks at the session before each
    frame that is sent. It also signs people out when `SECRET_KEY` has changed, even with `SECRET_KEY_FALLBACKS`.
    """
    session_of = import_module(settings.SESSION_ENGINE).SessionStore

    async def signed_in(scope: AsgiScope) -> AsgiScope:
        header = next((value for name, value in scope["headers"] if name == b"cookie"), b"")
        cookies = parse_cookie(header.decode("latin-1"))
        session_key = cookies.get(settings.SESSION_COOKIE_NAME)
        # The scope gets another session object: the connection reads only the key, and need not keep the content.
        user = await in_thread(_person, session_of(session_key))
        return {**scope, "cookies": cookies, "session": session_of(session_key), "user": user}

    async def wrapped(scope: AsgiScope, receive: Receive, send: Send) -> None:
        await application(await signed_in(scope), receive, send)

    return wrapped


class _SessionContent(dict[str, Any]):
    """The content of a stored session, for Django's check of the sign-in.

    The check renews a session that was signed with an older key, and empties one that is not valid. Only a page may
    do that: it gives the browser the new cookie, which a websocket cannot.
    """

    def cycle_key(self) -> None:
        """Leave the stored session as it is."""

    def flush(self) -> None:
        """Leave the stored session as it is."""


def _person(session: Any) -> AbstractBaseUser | AnonymousUser:
    """Return the person who has signed in with a session of Django, or an anonymous user."""
    request = HttpRequest()
    request.session = _SessionContent(session.items())  # type: ignore[assignment]
    return get_user(request)
