"""Event stream: the frames to one browser tab as server-sent events, for networks that block websockets.

The stream carries the same frames as a websocket, so the page's scripts and the viewer need not know which is in use:

    data: {"v":1,"type":"ready",...}     a frame, as in a websocket message
    data: {"v":1,"type":"pong"}          every five seconds
    event: close                         the last event, with the close code of a websocket
    data: 4401

In the other direction the browser posts each frame, which the view `frames` takes.
"""

import asyncio
from http import HTTPStatus
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from sessions_app.asgi.event_streams import HEADERS, parse_seq
from sessions_app.asgi.protocol import AsgiScope, Receive, Send, wait_until_gone
from sessions_app.base import actors
from sessions_app.base.client_address import client_address, client_network
from sessions_app.chat import protocol
from sessions_app.chat.connection import TabConnection
from sessions_app.chat.frame_handlers import count_frame, handle_frame, handle_message
from sessions_app.chat.protocol import AnyClientFrame, Hello, Message, Ping
from sessions_app.chat.server_frames import PongFrame, notice_frame
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError, http_status
from sessions_app.process.failures import public_error
from sessions_app.process.pool import UNAVAILABLE
from sessions_app.process.threads import wait_until_set
from sessions_app.rendering.session_view import SITE_READER
from sessions_app.sessions.ownership import User, own_session_or_404
from sessions_app.use_cases import NewChat

BYTES_PER_CHARACTER = 4
"""Maximum number of bytes of a character in UTF-8."""
PIECE_CHARACTERS = 65_536
"""Characters to send before waiting for room again."""
# The browser cannot ping on a stream, so the server sends `pong` frames unasked.
HEARTBEAT_SECONDS = 5.0
"""Interval of `pong` frames, by which the browser detects a dead stream."""


class StreamTransport:
    """Sends frames as server-sent events.

    Attributes:
        has_ended: set when the stream is closed, or the browser has left.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_within_frame = False
        self.has_ended = asyncio.Event()

    async def send(self, frame: str) -> None:
        """Send a frame in pieces. Return when the browser has room for the next frame."""
        self._is_within_frame = True
        for start in range(0, len(frame), PIECE_CHARACTERS):
            # The empty body waits until the browser has room. Viewers that wait share the text of the frame. If it were
            # encoded before the wait, or in one piece, each viewer would hold a copy.
            await self._send({"type": "http.response.body", "body": b"", "more_body": True})
            piece = frame[start : start + PIECE_CHARACTERS].encode()
            body = b"%s%s" % (b"" if start else b"data: ", piece)
            if start + PIECE_CHARACTERS >= len(frame):
                body += b"\n\n"
            await self._send({"type": "http.response.body", "body": body, "more_body": True})
        self._is_within_frame = False

    async def close(self, code: int) -> None:
        """End the stream by an event with the code."""
        # A frame cut half-way is no JSON. Name its event `cut`: the page has no listener for that name.
        cut = b"\nevent: cut\n\n" if self._is_within_frame else b""
        body = b"%sevent: close\ndata: %d\n\n" % (cut, code)
        try:
            await self._send({"type": "http.response.body", "body": body})
        finally:
            self.has_ended.set()

    async def watch_browser(self, receive: Receive) -> None:
        """Wait until the browser has left."""
        await wait_until_gone(receive)
        self.has_ended.set()


async def event_stream(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """ASGI application: serve the stream of a session or list until the browser leaves or the viewer closes the stream.

    The query has the fields of a `hello` frame: `?after=<seq>`, and `list=1` for a page with the list of sessions.
    """
    if scope["method"] != "GET":
        await send({"type": "http.response.start", "status": 405, "headers": [(b"allow", b"GET")]})
        await send({"type": "http.response.body"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS]})
    transport = StreamTransport(send)
    connection = TabConnection(scope, transport)
    leaving = asyncio.create_task(transport.watch_browser(receive), name="event stream: wait until gone")
    try:
        await _open(connection)
        while not await wait_until_set(transport.has_ended, HEARTBEAT_SECONDS):
            connection.sender.post(PongFrame().json())
    finally:
        leaving.cancel()
        connection.leave()


async def _open(connection: TabConnection) -> None:
    """Admit the session's owner and greet the browser."""
    viewer = connection.viewer
    after = connection.query("after")
    try:
        await connection.open()
        if connection.sender.has_ended:
            return
        await viewer.on_hello(parse_seq(after) or 0)
        if connection.query("list"):
            viewer.follow_list()
    except Exception as error:  # noqa: BLE001 - logged, and reported to the browser
        await connection.sender.fail(error)


@require_POST
@login_required
async def frames(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Handle the frame in the body of the request.

    The response is a frame in reply (200), nothing (204), an `error` frame with the status of the error, or 503 while
    PostgreSQL is away. With `?new=<app>` a message creates the session if it does not exist yet.
    """
    user = await request.auser()
    if not request.GET.get("new", ""):
        await own_session_or_404(user, session_id)
    # Read no further than the limit, whatever `Content-Length` says.
    body = request.read(conf().frame_limit * BYTES_PER_CHARACTER + 1)
    reply_to = None
    try:
        count_frame(body.decode(errors="replace"), user, client_network(request))
        frame = protocol.parse(body)
        reply_to = protocol.reply_id(frame)
        return await _handle(frame, request, user, session_id)
    except UNAVAILABLE:
        return HttpResponse(status=HTTPStatus.SERVICE_UNAVAILABLE)
    except Exception as error:  # noqa: BLE001 - logged, and reported to the browser
        public = public_error(error, f"Serving session {session_id}")
        return _reply(protocol.error_frame(public, reply_to).json(), http_status(public))


async def _handle(frame: AnyClientFrame, request: HttpRequest, user: User, session_id: UUID) -> HttpResponse:
    by = actors.person(user, client_address(request))
    new_app = request.GET.get("new", "")
    match frame:
        case Hello():
            raise InvalidInputError("A hello frame opens a websocket. Open the event stream instead.")
        case Ping():
            return _reply(PongFrame().json(), HTTPStatus.OK)
        case Message():
            new_chat = None
            if new_app:
                new_chat = NewChat(session_id, new_app, client_network(request))
            notice = await handle_message(frame, by, session_id, new_chat)
            # The notice has neither text nor times, so no reader's language or time zone is needed.
            return _reply(notice_frame(notice, SITE_READER), HTTPStatus.OK)
        case _:
            await handle_frame(frame, by, session_id)
            return HttpResponse(status=HTTPStatus.NO_CONTENT)


def _reply(frame: str, status: int) -> HttpResponse:
    return HttpResponse(frame, status=status, content_type="application/json")
