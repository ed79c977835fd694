"""Refusal of requests with NUL, which no address of the site has and neither PostgreSQL nor a file name can hold."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

AsyncView = Callable[[HttpRequest], Awaitable[HttpResponseBase]]
View = Callable[[HttpRequest], HttpResponseBase]


def has_nul(request: HttpRequest) -> bool:
    """True when path, query string or a cookie holds NUL. A quoted cookie can: it escapes any byte."""
    texts = (request.path, *request.COOKIES, *request.COOKIES.values())
    return "%00" in request.META.get("QUERY_STRING", "") or any("\0" in text for text in texts)


@sync_and_async_middleware
def refuse_nul(get_response: AsyncView | View) -> AsyncView | View:
    """Answer 400 to requests with NUL. Bodies are left to forms and frames, which have a sentence for the person."""

    async def respond_async(request: HttpRequest) -> HttpResponseBase:
        return _refusal() if has_nul(request) else await get_response(request)  # type: ignore[misc]

    def respond(request: HttpRequest) -> HttpResponseBase:
        return _refusal() if has_nul(request) else get_response(request)  # type: ignore[return-value]

    return respond_async if iscoroutinefunction(get_response) else respond


def _refusal() -> HttpResponse:
    return HttpResponse(
        "The request has a NUL character: remove it.\n", status=400, content_type="text/plain"
    )
