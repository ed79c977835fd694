"""Refusal of requests that name NUL: PostgreSQL has no text with NUL, so no page of any app has such an address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def refuse_nul(get_response: Handler) -> Handler:
    """Answer a request with NUL in its path or query string with 400."""

    async def answer_async(request: HttpRequest) -> HttpResponseBase:
        return _refusal(request) or await get_response(request)  # type: ignore[misc]  # asynchronous handler

    def answer(request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        return _refusal(request) or get_response(request)

    return answer_async if iscoroutinefunction(get_response) else answer


def _refusal(request: HttpRequest) -> HttpResponse | None:
    if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
        return HttpResponseBadRequest(
            "The address contains the character NUL. Remove %00 from it.\n", "text/plain"
        )
    return None
