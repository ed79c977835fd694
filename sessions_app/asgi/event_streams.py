"""Event streams and other long requests, served beside Django's handler.

Django's handler would keep a thread and a connection to PostgreSQL for as long as a request is open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.handlers.asgi import get_script_prefix
from django.urls.resolvers import RoutePattern

from sessions_app.asgi.protocol import Application, AsgiScope, Receive, Send

EVENT_STREAM = "text/event-stream"
HEADERS = [
    (b"content-type", EVENT_STREAM.encode()),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-accel-buffering", b"no"),  # of nginx
]
MAX_DIGITS = 18
"""Maximum number of digits of a `seq`. A larger number fits in no column."""


def with_event_streams(pages: Application, streams: Mapping[str, Application]) -> Application:
    """Wrap the pages. A request that matches a route of `streams` goes to its application, with the route's values."""
    patterns = [(RoutePattern(route, is_endpoint=True), stream) for route, stream in streams.items()]

    async def handle(scope: AsgiScope, receive: Receive, send: Send) -> Any:
        path = scope["path"].removeprefix(get_script_prefix(scope)).removeprefix("/")
        for pattern, stream in patterns:
            if match := pattern.match(path):
                _, _, values = match
                return await stream({**scope, "url_route": {"kwargs": values}}, receive, send)
        return await pages(scope, receive, send)

    return handle


def parse_seq(text: str) -> int | None:
    """Return the `seq` that a browser or a program has sent as text; None for a text that is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else None
