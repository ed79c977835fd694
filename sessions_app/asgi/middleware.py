"""Middleware made of functions, for synchronous and asynchronous handlers alike.

With one form only, Django would move each request into a thread and back.
"""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

AsyncView = Callable[[HttpRequest], Awaitable[HttpResponseBase]]
View = Callable[[HttpRequest], HttpResponseBase]
Middleware = Callable[[AsyncView | View], AsyncView | View]
Before = Callable[[HttpRequest], HttpResponseBase | None]
After = Callable[[HttpRequest, HttpResponseBase], HttpResponseBase]
OnError = Callable[[HttpRequest, Exception], HttpResponseBase | None]


def before_views(before: Before) -> Middleware:
    """Return middleware that calls `before` with each request. A response of `before` replaces that of the view."""
    return around_views(before, lambda request, response: response)


def after_views(after: After) -> Middleware:
    """Return middleware that calls `after` with each response."""
    return around_views(lambda request: None, after)


def around_views(before: Before, after: After, on_error: OnError | None = None) -> Middleware:
    """Return middleware that does both. A response of `before` is sent without `after`.

    The functions run on the event loop and must not block.

    Args:
        on_error: returns the response for an error that a view raises, or None to leave it to Django.
    """

    @sync_and_async_middleware
    def middleware(get_response: AsyncView | View) -> AsyncView | View:
        async def respond_async(request: HttpRequest) -> HttpResponseBase:
            early = before(request)
            return early or after(request, await get_response(request))  # type: ignore[misc]

        def respond(request: HttpRequest) -> HttpResponseBase:
            early = before(request)
            return early or after(request, get_response(request))  # type: ignore[arg-type]

        respond_by_mode = respond_async if iscoroutinefunction(get_response) else respond
        if on_error:
            respond_by_mode.process_exception = on_error  # type: ignore[union-attr]  # the name is Django's
        return respond_by_mode

    return middleware
