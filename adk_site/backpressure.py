"""Daphne's end of what is sent over websockets: `send` waits for the reader, and takes a message of any size.

ASGI lets `send` wait, and other servers have it wait. Daphne hands everything to Twisted at once, which keeps in
memory what the browser does not read. And it applies its limit for messages that come to those that go.
"""

from __future__ import annotations

import asyncio
import sys

from asgiref.typing import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGISendCallable,
    ASGISendEvent,
    Scope,
)


class _Room:
    """What Twisted tells of a connection's buffer (IPushProducer)."""

    def __init__(self) -> None:
        self.there_is = asyncio.Event()
        self.there_is.set()

    def pauseProducing(self) -> None:
        """The buffer is full."""
        self.there_is.clear()

    def resumeProducing(self) -> None:
        """The reader has taken all of it."""
        self.there_is.set()

    def stopProducing(self) -> None:
        """The connection is gone: nobody need wait for it."""
        self.there_is.set()


def waits_for_readers(application: ASGI3Application) -> ASGI3Application:
    """The application for websockets, with a `send` that waits; as it is under another server than Daphne."""
    if "daphne.ws_protocol" not in sys.modules:
        return application

    async def waiting(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        (protocol,) = send.args  # type: ignore[attr-defined]  # Daphne's `send` is bound to the connection
        room = _Room()
        protocol.unregisterProducer()  # the HTTP request that the websocket began as
        protocol.registerProducer(room, True)

        async def send_when_there_is_room(message: ASGISendEvent) -> None:
            # A close is not kept waiting: Daphne breaks the connection off when the browser does not answer it.
            if message["type"] != "websocket.close" and not room.there_is.is_set():
                await room.there_is.wait()
            limit, protocol.maxMessagePayloadSize = protocol.maxMessagePayloadSize, 0
            try:
                await send(message)  # at once: nothing comes meanwhile
            finally:
                protocol.maxMessagePayloadSize = limit

        await application(scope, receive, send_when_there_is_room)

    return waiting
