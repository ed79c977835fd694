"""Serving of the API's streams as ASGI applications.

Django's handler would keep a thread and a connection for each stream. Outside of it, an `ApiStream` makes the checks of
middleware and django-ninja itself: method, accepted type, caller, origin, limits. It also describes itself for the
OpenAPI document.

A stream counts as an open connection of its caller, and ends when the caller's key or sign-in ends.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any

from django.core.exceptions import RequestAborted
from django.http import HttpResponse, QueryDict

from sessions_app.api.access.authentication import caller_of_stream
from sessions_app.api.access.callers import Caller
from sessions_app.api.access.connections import Stream, end_on_sign_out, reserve_connection
from sessions_app.api.access.problems import problem_of
from sessions_app.asgi.event_streams import EVENT_STREAM, HEADERS, parse_seq
from sessions_app.asgi.origin import http_request
from sessions_app.asgi.problem_details import method_not_allowed, unacceptable
from sessions_app.asgi.protocol import (
    AsgiScope,
    Receive,
    Send,
    headers_of,
    read_body,
    send_response,
    wait_until_gone,
)
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.models.idempotent_request import MAX_KEY_LENGTH, is_usable_key
from sessions_app.process.pool import UNAVAILABLE

logger = logging.getLogger(__name__)
LARGE_FRAME = 16_384
"""Characters of a frame above which it is encoded only when the program has room for it."""


@dataclass(frozen=True)
class StreamRequest:
    """Request for a stream.

    Attributes:
        values: values of the placeholders in the route.
        body: body of the request; empty for GET.
    """

    caller: Caller
    values: Mapping[str, Any]
    headers: Mapping[str, str]
    query: bytes = b""
    body: bytes = b""

    @property
    def idempotency_key(self) -> str:
        """Idempotency key of the request, used as client id of its run; empty without a key.

        Raises:
            InvalidInputError: the header is no valid key.
        """
        key = self.headers.get("idempotency-key", "")
        if key and not is_usable_key(key):
            raise InvalidInputError(
                f"The Idempotency-Key has at most {MAX_KEY_LENGTH} printable ASCII characters.",
                field="header.Idempotency-Key",
            )
        return key

    @property
    def last_event_id(self) -> int | None:
        """`seq` of the last event that the program has, from the header or from `?after=`; None without either."""
        # The header first: a client that connects again repeats its first address, with an `after` that is old.
        text = self.headers.get("last-event-id") or QueryDict(self.query).get("after") or ""
        return parse_seq(text)


@dataclass(frozen=True)
class ApiStream:
    """ASGI application for an address of the API whose response is a stream.

    Attributes:
        route: the address as a Django route, without leading slash.
        open: returns the stream, or raises the error to respond with. Its docstring is the description in the OpenAPI
            document.
        summary: the summary in the OpenAPI document.
        respond: sends the response; by default each frame as it comes.
        request_body: the request body in the OpenAPI document.
    """

    route: str
    open: Callable[[StreamRequest], Awaitable[Stream]]
    summary: str
    method: str = "GET"
    respond: Callable[[Stream, Receive, Send], Awaitable[None]] | None = None
    request_body: dict[str, Any] | None = None

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Serve the stream until it ends or the program leaves."""
        if scope["method"] != self.method:
            await send_response(send, method_not_allowed(self.method))
            return
        if self.method == "GET" and not http_request(scope).accepts(EVENT_STREAM):
            await send_response(send, unacceptable(EVENT_STREAM))
            return
        try:
            caller = await caller_of_stream(scope)
            # Reserved before the body is read: a client that sends its body slowly has a connection open, too.
            with await reserve_connection(caller):
                # Files come as base64, so a body is larger than its files.
                body = await read_body(receive, 2 * conf().upload_bytes)
                values = scope["url_route"]["kwargs"]
                request = StreamRequest(caller, values, headers_of(scope), scope["query_string"], body)
                stream = await self.open(request)
                with end_on_sign_out(caller, scope, stream):
                    await (self.respond or respond_with_events)(stream, receive, send)
        except RequestAborted:
            return  # The program has left.
        except Exception as error:  # noqa: BLE001 - logged, and reported to the program
            await send_response(send, problem_of(error))

    @property
    def path(self) -> str:
        """The address in the form of the OpenAPI document."""
        return "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", self.route)

    @property
    def description(self) -> dict[str, Any]:
        """The entry of the address in the OpenAPI document."""
        names = re.findall(r"<\w+:(\w+)>", self.route)
        seq = {"schema": {"type": "integer", "minimum": 0}, "description": "Last event that the program has."}
        parameters = [
            *({"in": "path", "name": name, "schema": {"type": "string"}, "required": True} for name in names),
            {"in": "query", "name": "after", "required": False, **seq},
            {"in": "header", "name": "Last-Event-ID", "required": False, **seq},
        ]
        if self.respond:
            content: dict[str, Any] = {"application/json": {"schema": {}}}
        else:
            content = {
                EVENT_STREAM: {
                    "schema": {"type": "string", "examples": ['data: {"author": "help_desk"}\n\n']}
                }
            }
        operation = {
            "operationId": self.open.__name__.removeprefix("_"),
            "summary": self.summary,
            "description": cleandoc(self.open.__doc__ or ""),
            "parameters": parameters,
            "responses": {200: {"description": "Server-sent events", "content": content}},
            "tags": ["streams"],
            **({"requestBody": self.request_body} if self.request_body else {}),
            "security": [{"KeyAuth": []}, {"SignInAuth": []}],
        }
        return {self.method.lower(): operation}


async def respond_with_events(stream: Stream, receive: Receive, send: Send) -> None:
    """Send each frame as it comes, until the stream ends or the program leaves."""
    await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS]})
    await _until_gone(_send_frames(stream, send), receive)


async def respond_with_list(stream: Stream, receive: Receive, send: Send) -> None:
    """Send all frames as a JSON list once the stream has ended."""
    await _until_gone(_send_list(stream, send), receive)


async def _until_gone(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Run the coroutine until it ends or the program leaves."""
    # A task for `receive` as well: a program that leaves a silent stream would only be noticed at the next frame.
    sending = asyncio.create_task(work, name="stream: send")
    leaving = asyncio.create_task(wait_until_gone(receive), name="stream: wait until gone")
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        # Wait until the cancelled work has closed its feed. Its errors were logged where they occurred.
        await asyncio.gather(sending, leaving, return_exceptions=True)


async def _send_list(stream: Stream, send: Send) -> None:
    try:
        async with aclosing(stream.frames()) as frames:
            elements = [frame async for frame in frames if frame]
        response = HttpResponse(f"[{','.join(elements)}]", content_type="application/json")
        if stream.reason:
            raise NotFoundError("The session was deleted, or the sign-in has ended. A run of it goes on.")
    except Exception as error:  # noqa: BLE001 - logged, and reported to the program
        response = problem_of(error)
    await send_response(send, response)


async def _send_frames(stream: Stream, send: Send) -> None:
    """Send each frame in one piece; disconnect a program that does not read."""
    # The response has begun, so an error can no longer become problem details: it is logged, and the stream ends.
    try:
        async with aclosing(stream.frames()) as frames:
            async for frame in frames:
                if frame:
                    async with asyncio.timeout(conf().slow_reader_seconds):
                        await _send_frame(frame, send)
    except TimeoutError:
        logger.warning("A program did not read its stream in time; it is disconnected")
    except UNAVAILABLE as error:
        logger.warning("A stream ends: PostgreSQL is away (%s)", error)
    except Exception:
        logger.exception("A stream failed")
    await send({"type": "http.response.body", "body": b""})


async def _send_frame(frame: str, send: Send) -> None:
    if len(frame) > LARGE_FRAME:
        # An empty message waits for room. Until then all streams share the text of the frame; if it were encoded before
        # the wait, each stream would hold a copy.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
    await send({"type": "http.response.body", "body": frame.encode(errors="replace"), "more_body": True})
