"""Middleware made of a function that is called before each view."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

AsyncView = Callable[[HttpRequest], Awaitable[HttpResponseBase]]
View = Callable[[HttpRequest], HttpResponseBase]
Middleware = Callable[[AsyncView | View], AsyncView | View]


def before_views(act: Callable[[HttpRequest], None]) -> Middleware:
    """Return middleware that calls `act` with each request. `act` runs on the event loop and must not block."""
    # Sync and async: with one form only, Django would move each request into a thread and back.

    @sync_and_async_middleware
    def middleware(get_response: AsyncView | View) -> AsyncView | View:
        async def respond_async(request: HttpRequest) -> HttpResponseBase:
            act(request)
            return await get_response(request)  # type: ignore[misc, no-any-return]

        def respond(request: HttpRequest) -> HttpResponseBase:
            act(request)
            return get_response(request)  # type: ignore[return-value]

        return respond_async if iscoroutinefunction(get_response) else respond

    return middleware
