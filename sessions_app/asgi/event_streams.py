"""Routing of event streams and other long requests to separate ASGI applications.

Django's handler would keep a thread and a PostgreSQL connection while a request is open. With a stream in every tab,
the pages would soon have neither.
"""

from collections.abc import Mapping
from typing import Any

from django.urls.resolvers import RoutePattern

from sessions_app.asgi.protocol import Application, AsgiScope, Receive, Send, path_within_site

EVENT_STREAM = "text/event-stream"
HEADERS = [
    (b"content-type", EVENT_STREAM.encode()),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-accel-buffering", b"no"),  # nginx would otherwise hold the stream back until its buffer is full
]
MAX_DIGITS = 18
"""Maximum number of digits of a `seq`; a longer number exceeds the column."""


def with_event_streams(pages: Application, streams: Mapping[str, Application]) -> Application:
    """Wrap Django's handler: requests that match a route of `streams` go to the route's application.

    The application finds the values of the route under `scope["url_route"]["kwargs"]`, as in Channels.
    """
    patterns = [(RoutePattern(route, is_endpoint=True), stream) for route, stream in streams.items()]

    async def handle(scope: AsgiScope, receive: Receive, send: Send) -> Any:
        path = path_within_site(scope).removeprefix("/")
        for pattern, stream in patterns:
            if match := pattern.match(path):
                _, _, values = match
                return await stream({**scope, "url_route": {"kwargs": values}}, receive, send)
        return await pages(scope, receive, send)

    return handle


def parse_seq(text: str) -> int | None:
    """Parse a `seq` from a query string or header; return None if the text is no valid `seq`."""
    # `isascii` as well: `isdecimal` accepts the digits of all scripts.
    if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS:
        return int(text)
    return None
