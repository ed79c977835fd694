"""Event streams beside the pages.

Django's handler would keep a thread, and the request's connection to PostgreSQL, for as long as a stream is open.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.core.handlers.asgi import get_script_prefix
from django.urls.resolvers import RoutePattern

Application = Callable[..., Awaitable[Any]]
Scope = MutableMapping[str, Any]


def with_event_streams(pages: Application, pattern: RoutePattern, streams: Application) -> Application:
    """Wrap the pages: requests that match the pattern go to the event streams, with the values of its placeholders."""

    async def handle(scope: Scope, receive: Any, send: Any) -> Any:
        path = scope["path"].removeprefix(get_script_prefix(scope))
        match = pattern.match(path.removeprefix("/"))
        if match is None:
            return await pages(scope, receive, send)
        _, _, values = match
        return await streams({**scope, "url_route": {"kwargs": values}}, receive, send)

    return handle
