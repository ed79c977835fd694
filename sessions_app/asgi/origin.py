"""Check of websocket handshakes and event streams: NUL is refused, the origin is checked as Django does for forms.

Browsers let every page open a websocket to any site, and send the person's cookies with it. Django's check also refuses
pages on another port or scheme.
"""

from __future__ import annotations

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
    """Django's comparison of the Origin header with scheme, host and port, and with CSRF_TRUSTED_ORIGINS."""

    def accepts(self, request: HttpRequest, *, needs_origin: bool) -> bool:
        """True for a request of a page of this site or of a trusted origin."""
        try:
            request.get_host()
            if "HTTP_ORIGIN" not in request.META:
                return not needs_origin
            return bool(self._origin_verified(request))  # type: ignore[attr-defined]  # django-stubs leave it out
        except DisallowedHost:
            return False


def from_own_pages(application: Application) -> Application:
    """Wrap websockets or event streams: refuse requests of pages that are neither of this site nor of a trusted origin.

    A request with NUL is refused as well. An event stream needs no Origin header, because browsers send none with a
    page's GET request to its own site. An open connection keeps no frame of the wrapper.
    """

    def wrapped(scope: AsgiScope, receive: Receive, send: Send) -> Awaitable[Any]:
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
    """True for a request of a page of this site or of a trusted origin, without NUL.

    Args:
        needs_origin: True for a request that changes something or reads more than a page may. If it has no Origin
            header, its `Sec-Fetch-Site` header must say `same-origin`.
    """
    request = http_request(scope)
    needs_origin = needs_origin and request.headers.get("Sec-Fetch-Site") != "same-origin"
    return not has_nul(request) and _OriginCheck(_no_response).accepts(request, needs_origin=needs_origin)


def http_request(scope: AsgiScope) -> ASGIRequest:
    """Return a scope as a request of Django, which obeys ALLOWED_HOSTS and SECURE_PROXY_SSL_HEADER."""
    scheme = HTTP_SCHEMES[scope.get("scheme", "ws")]
    return ASGIRequest({**scope, "method": "GET", "scheme": scheme}, BytesIO())


def _no_response(request: HttpRequest) -> HttpResponse:
    raise NotImplementedError("The check only reads the request.")
