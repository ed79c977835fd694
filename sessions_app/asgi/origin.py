"""Check of the origin of websocket handshakes and event streams, as Django checks it for forms; NUL is refused, too.

Browsers let every page open a websocket to any site, and send the user's cookies with it. Without this check a page of
another site could read and write the chats of its visitors.
"""

from collections.abc import Awaitable
from io import BytesIO
from typing import Any

from asgiref.sync import markcoroutinefunction
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from sessions_app.asgi.nul import has_nul
from sessions_app.asgi.protocol import Application, AsgiScope, Receive, Send

HTTP_SCHEMES = {"ws": "http", "wss": "https", "http": "http", "https": "https"}


class _OriginCheck(CsrfViewMiddleware):
    # Django's check is private. A check of our own could differ from it, and let in a page that Django's forms refuse.
    # Unlike the validator of Channels, Django also compares scheme and port, and knows CSRF_TRUSTED_ORIGINS.

    def accepts(self, request: HttpRequest, *, needs_origin: bool) -> bool:
        """True for a request from a page of this site or of a trusted origin."""
        try:
            request.get_host()
            if "HTTP_ORIGIN" not in request.META:
                return not needs_origin
            return bool(self._origin_verified(request))  # type: ignore[attr-defined]  # django-stubs leave it out
        except DisallowedHost:
            return False


def from_own_pages(application: Application) -> Application:
    """Wrap websockets or event streams: refuse requests from pages of other sites, and requests with NUL."""

    # Not a coroutine: it returns the application's, so no frame of the wrapper stays for each open connection.
    def wrapped(scope: AsgiScope, receive: Receive, send: Send) -> Awaitable[Any]:
        # Browsers send no Origin header with a page's GET request to its own site, such as an event stream.
        is_websocket = scope["type"] == "websocket"
        if is_from_own_page(scope, needs_origin=is_websocket):
            return application(scope, receive, send)
        return _refuse(send, is_websocket=is_websocket)

    return markcoroutinefunction(wrapped)


async def _refuse(send: Send, *, is_websocket: bool) -> None:
    if is_websocket:
        # WebsocketDenier of Channels would keep each refused socket waiting for Redis until the browser leaves.
        await send({"type": "websocket.close"})
        return
    await send({"type": "http.response.start", "status": 403, "headers": []})
    await send({"type": "http.response.body"})


def is_from_own_page(scope: AsgiScope, *, needs_origin: bool) -> bool:
    """True for a request without NUL from a page of this site or of a trusted origin.

    Args:
        needs_origin: True for a request that changes something, or reads more than a page may. Without an Origin header
            such a request needs `Sec-Fetch-Site: same-origin`.
    """
    request = http_request(scope)
    needs_origin = needs_origin and request.headers.get("Sec-Fetch-Site") != "same-origin"
    return not has_nul(request) and _OriginCheck(_no_response).accepts(request, needs_origin=needs_origin)


def http_request(scope: AsgiScope) -> ASGIRequest:
    """Return a Django request for a scope; its host and scheme obey ALLOWED_HOSTS and SECURE_PROXY_SSL_HEADER."""
    scheme = HTTP_SCHEMES[scope.get("scheme", "ws")]
    return ASGIRequest({**scope, "method": "GET", "scheme": scheme}, BytesIO())


def _no_response(request: HttpRequest) -> HttpResponse:
    raise NotImplementedError("The check only reads the request.")
