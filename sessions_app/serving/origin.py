"""Check of websocket handshakes: NUL is refused, and the origin is checked as Django checks it for forms.

Django's check also refuses pages on another port or scheme. Browsers let every page open a websocket to any site, and
send the person's cookies with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from io import BytesIO
from typing import Any

from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from sessions_app.serving.nul import has_nul

Application = Callable[..., Awaitable[Any]]
Scope = MutableMapping[str, Any]
HTTP_SCHEMES = {"ws": "http", "wss": "https"}


class _OriginCheck(CsrfViewMiddleware):
    """Django's comparison of the Origin header with scheme, host and port, and with CSRF_TRUSTED_ORIGINS."""

    def accepts(self, request: HttpRequest) -> bool:
        """Return True for a request of a page of this site or of a trusted origin."""
        try:
            return "HTTP_ORIGIN" in request.META and bool(self._origin_verified(request))  # type: ignore[attr-defined]  # django-stubs leave it out
        except DisallowedHost:
            return False


def from_own_pages(application: Application) -> Application:
    """Wrap a websocket application: sockets that no page of this site or of a trusted origin opened are refused.

    A handshake with NUL is refused as well.
    """

    async def wrapped(scope: Scope, receive: Any, send: Any) -> Any:
        request = _http_request(scope)
        if not has_nul(request) and _OriginCheck(_no_response).accepts(request):
            return await application(scope, receive, send)
        # WebsocketDenier of Channels would keep each refused socket waiting for Redis until the browser leaves.
        return await send({"type": "websocket.close"})

    return wrapped


def _http_request(scope: Scope) -> ASGIRequest:
    """Return the handshake as Django's request, which knows ALLOWED_HOSTS and SECURE_PROXY_SSL_HEADER."""
    scheme = HTTP_SCHEMES.get(scope.get("scheme", "ws"), "http")
    return ASGIRequest({**scope, "method": "GET", "scheme": scheme}, BytesIO())


def _no_response(request: HttpRequest) -> HttpResponse:
    raise NotImplementedError("The check only reads the request.")
