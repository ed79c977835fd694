"""Middleware that tells browsers which devices pages may use: the microphone for dictation, and no other."""

from __future__ import annotations

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from sessions_app.asgi.before_views import AsyncView, View
from sessions_app.conf import conf


@sync_and_async_middleware
def limit_devices(get_response: AsyncView | View) -> AsyncView | View:
    """Return middleware that sets `Permissions-Policy` in each response."""

    async def respond_async(request: HttpRequest) -> HttpResponseBase:
        return _limited(await get_response(request))  # type: ignore[misc]

    def respond(request: HttpRequest) -> HttpResponseBase:
        return _limited(get_response(request))  # type: ignore[arg-type]

    return respond_async if iscoroutinefunction(get_response) else respond


def _limited(response: HttpResponseBase) -> HttpResponseBase:
    allowed = "(self)" if conf().voice else "()"
    response["Permissions-Policy"] = f"camera=(), geolocation=(), microphone={allowed}"
    return response
