"""Event stream: the frames to one browser tab as server-sent events, for networks that block websockets.

The stream carries the same frames as a websocket, so the page's scripts and the viewer need not know which is in use:

    data: {"v":1,"type":"ready",...}     a frame, as in a websocket message
    data: {"v":1,"type":"pong"}          every five seconds
    event: close                         the last event, with the close code of a websocket
    data: 4401

In the other direction the browser posts each frame to `chat/frames.py`.
"""

import asyncio

from sessions_app.asgi.event_streams import HEADERS, parse_seq
from sessions_app.asgi.protocol import AsgiScope, Receive, Send, wait_until_gone
from sessions_app.chat.connection import Connection
from sessions_app.chat.server_frames import PongFrame
from sessions_app.process.loop_local import wait_until_set

PIECE_CHARACTERS = 65_536
"""Characters to send before waiting for room again."""
# The browser cannot ping on a stream, so the server sends `pong` frames unasked.
HEARTBEAT_SECONDS = 5.0
"""Interval of `pong` frames, by which the browser detects a dead stream."""


async def event_stream(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """ASGI application: serve the stream of a session or list until the browser leaves or the viewer closes the stream.

    The query has the fields of a `hello` frame: `?after=<seq>`, and `list=1` for a page with the list of sessions.
    """
    end = asyncio.Event()
    is_within_frame = False

    async def send_frame(frame: str) -> None:
        nonlocal is_within_frame
        is_within_frame = True
        for start in range(0, len(frame), PIECE_CHARACTERS):
            # The empty body waits until the browser has room. Viewers that wait share the text of the frame. If it were
            # encoded before the wait, or in one piece, each viewer would hold a copy.
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            piece = frame[start : start + PIECE_CHARACTERS].encode()
            body = b"%s%s" % (b"" if start else b"data: ", piece)
            if start + PIECE_CHARACTERS >= len(frame):
                body += b"\n\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})
        is_within_frame = False

    async def close(code: int) -> None:
        # A frame cut half-way is no JSON. Name its event `cut`: the page has no listener for that name.
        cut = b"\nevent: cut\n\n" if is_within_frame else b""
        try:
            await send({"type": "http.response.body", "body": b"%sevent: close\ndata: %d\n\n" % (cut, code)})
        finally:
            end.set()

    if scope["method"] != "GET":
        await send({"type": "http.response.start", "status": 405, "headers": [(b"allow", b"GET")]})
        await send({"type": "http.response.body"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS]})
    connection = Connection(scope, send=send_frame, close=close)
    leaving = asyncio.create_task(_set_when_gone(receive, end), name="event stream: wait until gone")
    try:
        await _open(connection)
        while not await wait_until_set(end, HEARTBEAT_SECONDS):
            connection.sender.post(PongFrame().json())
    finally:
        leaving.cancel()
        connection.leave()


async def _open(connection: Connection) -> None:
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
    except Exception as error:  # noqa: BLE001 - logged, and told to the browser
        await connection.sender.fail(error)


async def _set_when_gone(receive: Receive, end: asyncio.Event) -> None:
    """Set the event when the browser has left."""
    await wait_until_gone(receive)
    end.set()
