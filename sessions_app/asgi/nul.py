"""Refusal of requests with NUL characters, which neither PostgreSQL nor a file name can hold.

No address of the site has one, so a single check replaces a check in each view.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from sessions_app.asgi.problem_details import is_for_programs, problem

SENTENCE = "The request has a NUL character: remove it."
AsyncView = Callable[[HttpRequest], Awaitable[HttpResponseBase]]
View = Callable[[HttpRequest], HttpResponseBase]


def has_nul(request: HttpRequest) -> bool:
    """True if path, query string or a cookie contains NUL."""
    return bool(_place_of_nul(request))


def _place_of_nul(request: HttpRequest) -> str:
    """Return the name of the part of the request that contains NUL; empty if none does."""
    # Decoded cookies: quotes in a cookie may escape any byte.
    cookies = (*request.COOKIES, *request.COOKIES.values())
    found = {
        "path": "\0" in request.path,
        "query": "%00" in request.META.get("QUERY_STRING", ""),
        "cookie": any("\0" in text for text in cookies),
    }
    return next((place for place, has in found.items() if has), "")


@sync_and_async_middleware
def refuse_nul(get_response: AsyncView | View) -> AsyncView | View:
    """Answer requests with NUL in path, query string or cookies with 400. Forms and frames check their bodies."""

    async def respond_async(request: HttpRequest) -> HttpResponseBase:
        return _refusal(request) if has_nul(request) else await get_response(request)  # type: ignore[misc]

    def respond(request: HttpRequest) -> HttpResponseBase:
        return _refusal(request) if has_nul(request) else get_response(request)  # type: ignore[return-value]

    return respond_async if iscoroutinefunction(get_response) else respond


def _refusal(request: HttpRequest) -> HttpResponse:
    if is_for_programs(request.path_info):
        errors = [{"field": _place_of_nul(request), "message": SENTENCE}]
        refusal = problem(HTTPStatus.BAD_REQUEST, SENTENCE, "invalid", errors=errors)
        refusal["Content-Length"] = str(len(refusal.content))
        return refusal
    return HttpResponse(f"{SENTENCE}\n", status=HTTPStatus.BAD_REQUEST, content_type="text/plain")
