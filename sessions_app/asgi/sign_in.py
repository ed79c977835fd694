"""Sign-in of browsers that open a websocket or an event stream.

This replaces `AuthMiddlewareStack` of Channels, which keeps 3 KB more for each connection, looks at the session before
each frame that is sent, and signs users out after a change of `SECRET_KEY` despite `SECRET_KEY_FALLBACKS`.
"""

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, parse_cookie

from sessions_app.asgi.protocol import Application, AsgiScope, Receive, Send
from sessions_app.process.threads import in_thread


def with_sign_in(application: Application) -> Application:
    """Wrap an application: add `cookies`, `session` and `user` to the scope, as Channels does."""
    session_of = import_module(settings.SESSION_ENGINE).SessionStore

    async def signed_in(scope: AsgiScope) -> AsgiScope:
        header = next((value for name, value in scope["headers"] if name == b"cookie"), b"")
        cookies = parse_cookie(header.decode("latin-1"))
        session_key = cookies.get(settings.SESSION_COOKIE_NAME)
        # The scope gets a new session object, not the loaded one: connections read only the key, and need no content.
        user = await in_thread(_person, session_of(session_key))
        return {**scope, "cookies": cookies, "session": session_of(session_key), "user": user}

    async def wrapped(scope: AsgiScope, receive: Receive, send: Send) -> None:
        await application(await signed_in(scope), receive, send)

    return wrapped


class _SessionContent(dict[str, Any]):
    """Content of a stored session, for Django's check of the sign-in. The check cannot change the stored session."""

    # Django renews a session that was signed with an older key, and flushes an invalid session. Only a page may do so:
    # its response gives the browser the new cookie, which a websocket cannot.

    def cycle_key(self) -> None:
        """Leave the stored session as it is."""

    def flush(self) -> None:
        """Leave the stored session as it is."""


def _person(session: Any) -> AbstractBaseUser | AnonymousUser:
    """Return the user who signed in with the Django session, or an anonymous user."""
    request = HttpRequest()
    request.session = _SessionContent(session.items())  # type: ignore[assignment]
    return get_user(request)
