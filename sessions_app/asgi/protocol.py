"""Types of ASGI, and helpers for applications outside of Django's handler.

A site may be served below a path, by `root_path` of the ASGI server or `FORCE_SCRIPT_NAME`.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.core.exceptions import RequestAborted, RequestDataTooBig
from django.core.handlers.asgi import get_script_prefix
from django.http import HttpResponse

AsgiScope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[..., Awaitable[Any]]


async def read_body(receive: Receive, most_bytes: int) -> bytes:
    """Return the body of a request.

    Raises:
        RequestDataTooBig: the body has more than `most_bytes`.
        RequestAborted: the client has closed the connection.
    """
    pieces = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestAborted
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > most_bytes:
            raise RequestDataTooBig
        if not message.get("more_body"):
            return b"".join(pieces)


def replaying(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` for an application to which a body that was read already is to be given."""
    unread = [{"type": "http.request", "body": body}]

    async def replay() -> Any:
        return unread.pop() if unread else await receive()

    return replay


def headers_of(scope: AsgiScope) -> dict[str, str]:
    """Return the headers of a request, by names in small letters."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def send_response(send: Send, response: HttpResponse) -> None:
    """Send a response that is not streamed."""
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})


async def wait_until_gone(receive: Receive) -> None:
    """Wait until the browser or the program has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def path_within_site(scope: AsgiScope) -> str:
    """Return the path of a request without the prefix; a proxy may have removed the prefix already."""
    path: str = scope["path"].removeprefix(get_script_prefix(scope))
    return path


def without_script_prefix(application: Application) -> Application:
    """Wrap a router of Channels, which does not know `FORCE_SCRIPT_NAME`."""

    # Not asynchronous: an idle socket would hold a frame more.
    def handle(scope: AsgiScope, receive: Receive, send: Send) -> Awaitable[Any]:
        return application({**scope, "path": path_within_site(scope), "root_path": ""}, receive, send)

    return handle
