"""The sign-in of a websocket's or an event stream's browser."""

from __future__ import annotations

from importlib import import_module

from channels.auth import get_user
from django.conf import settings
from django.http import parse_cookie

from sessions_app.serving.asgi import Application, AsgiScope, Receive, Send


def with_sign_in(application: Application) -> Application:
    """Wrap an application: its scope has the browser's cookies, the session of Django and the person, as in Channels.

    The `AuthMiddlewareStack` of Channels keeps 3 KB more for each connection, and looks at the session before each
    frame that is sent.
    """
    session_of = import_module(settings.SESSION_ENGINE).SessionStore

    async def wrapped(scope: AsgiScope, receive: Receive, send: Send) -> None:
        header = next((value for name, value in scope["headers"] if name == b"cookie"), b"")
        cookies = parse_cookie(header.decode("latin-1"))
        session_key = cookies.get(settings.SESSION_COOKIE_NAME)
        # The connection asks its session for the key only, so that it need not keep the content that is read here.
        user = await get_user({"session": session_of(session_key)})
        signed_in = {**scope, "cookies": cookies, "session": session_of(session_key), "user": user}
        await application(signed_in, receive, send)

    return wrapped
