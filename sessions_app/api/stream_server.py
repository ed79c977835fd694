"""Serving of the API's streams: ASGI applications beside Django's handler, which make its checks themselves.

A key, or the sign-in of a browser, opens a stream within the limits on open connections. The stream
ends when the key or the sign-in ends.
"""

from __future__ import annotations

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
"""Length of a frame in characters from which its encoding waits until the program can take it."""


@dataclass(frozen=True)
class StreamRequest:
    """Request for a stream.

    Attributes:
        values: values of the placeholders in the address.
        query: query of the address.
        body: body of the request, empty for GET.
    """

    caller: Caller
    values: Mapping[str, Any]
    headers: Mapping[str, str]
    query: bytes = b""
    body: bytes = b""

    @property
    def idempotency_key(self) -> str:
        """The client id of the run that the request starts; empty without one.

        Raises:
            InvalidInputError: the header cannot be used as a key.
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
        """The `seq` of the last event that the program has, from the header or from `?after=`; None without one."""
        text = self.headers.get("last-event-id") or QueryDict(self.query).get("after") or ""
        return parse_seq(text)


@dataclass(frozen=True)
class ApiStream:
    """Address of the API whose response is a stream; an ASGI application.

    Attributes:
        route: address as a route of Django, without the first slash.
        open: returns the stream, or raises the error that is the response.
        summary: a sentence for the document of the API; the docstring of `open` is the description.
        respond: sends the response; the default sends the frames as they come.
        request_body: the body of the request as the document of the API has it.
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
            with await reserve_connection(caller):
                body = await read_body(receive, 2 * conf().upload_bytes)
                headers = {
                    name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
                }
                values = scope["url_route"]["kwargs"]
                stream = await self.open(StreamRequest(caller, values, headers, scope["query_string"], body))
                with end_on_sign_out(caller, scope, stream):
                    await (self.respond or respond_with_events)(stream, receive, send)
        except RequestAborted:
            return  # The program has left.
        except Exception as error:  # noqa: BLE001 - logged, and told to the program
            await send_response(send, problem_of(error))

    @property
    def path(self) -> str:
        """The address as the document of the API has it."""
        return "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", self.route)

    @property
    def description(self) -> dict[str, Any]:
        """The entry of the address in the document of the API (OpenAPI)."""
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
    """Send the frames as they come, until the stream ends or the program has left."""
    await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS]})
    await _until_gone(_send_frames(stream, send), receive)


async def respond_with_list(stream: Stream, receive: Receive, send: Send) -> None:
    """Send the frames as a JSON list when the stream has ended."""
    await _until_gone(_send_list(stream, send), receive)


async def _until_gone(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Do the work until it ends or the program has left."""
    sending = asyncio.create_task(work, name="stream: send")
    leaving = asyncio.create_task(wait_until_gone(receive), name="stream: wait until gone")
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)


async def _send_list(stream: Stream, send: Send) -> None:
    try:
        async with aclosing(stream.frames()) as frames:
            elements = [frame async for frame in frames if frame]
        response = HttpResponse(f"[{','.join(elements)}]", content_type="application/json")
        if stream.reason:
            raise NotFoundError("The session was deleted, or the sign-in has ended. A run of it goes on.")
    except Exception as error:  # noqa: BLE001 - logged, and told to the program
        response = problem_of(error)
    await send_response(send, response)


async def _send_frames(stream: Stream, send: Send) -> None:
    """Send each frame in one piece; disconnect a program that does not read."""
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
        # An empty message waits for room. Until then the frame is one text for all readers of the session; encoded
        # before the wait, it would be a copy in each stream.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
    await send({"type": "http.response.body", "body": frame.encode(errors="replace"), "more_body": True})
