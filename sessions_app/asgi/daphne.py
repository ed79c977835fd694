"""Two parts of ASGI that Daphne lacks: backpressure, and notice of the shutdown.

Without backpressure Daphne hands each message to Twisted, which buffers without limit: one browser that does not read
would fill the memory of the process. Here `send` waits until Twisted reports room, and a long message goes in fragments
that each wait. Twisted's push producers report the room:

    buffer has room --- pauseProducing() ---> buffer full: `send` waits --- resumeProducing() ---> buffer has room

Without notice of the shutdown (the lifespan protocol) the process would stop with its leases held, and its invocations
would wait until the leases expire.

This is the only module that uses internals of Daphne, autobahn and Twisted. Under another server it changes nothing.
"""

import asyncio
import sys
from collections.abc import Awaitable
from functools import partial
from typing import Any

from asgiref.sync import markcoroutinefunction
from asgiref.typing import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGISendCallable,
    ASGISendEvent,
    Scope,
)

from sessions_app.shutdown import shut_down

FRAGMENT_CHARACTERS = 65_536
"""Characters of a websocket message to send before waiting for room again."""


class _BufferWatch:
    """Twisted push producer (`IPushProducer`): records if the buffer of a connection has room."""

    __slots__ = ("_room",)

    def __init__(self) -> None:
        # None while the buffer has room. Made when needed: most sockets never fill their buffer.
        self._room: asyncio.Event | None = None

    def pauseProducing(self) -> None:
        """Note that the buffer is full."""
        self._room = self._room or asyncio.Event()

    def resumeProducing(self) -> None:
        """Note that the buffer is empty again."""
        if self._room is not None:
            self._room.set()
            self._room = None

    def stopProducing(self) -> None:
        """Release waiting senders when the connection is closed."""
        self.resumeProducing()

    async def wait_for_room(self) -> None:
        """Return immediately if the buffer has room, else once it is empty again."""
        if self._room is not None:
            await self._room.wait()


def with_backpressure(application: ASGI3Application) -> ASGI3Application:
    """Wrap an application, so under Daphne its `send` waits for a slow reader. No effect under other servers."""

    # Not a coroutine: it returns the application's, so no frame of the wrapper stays for each open connection.
    def wrapped(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> Awaitable[None]:
        # Projects import Daphne under other servers, too: Daphne is one of their INSTALLED_APPS.
        if isinstance(send, partial) and send.func.__module__ == "daphne.server":
            (protocol,) = send.args
            is_socket = scope["type"] == "websocket"
            send = _SocketSender(protocol, send).send if is_socket else _send_to_stream(protocol, send)
        return application(scope, receive, send)

    return markcoroutinefunction(wrapped)


class _SocketSender(_BufferWatch):
    """Send the messages of one websocket."""

    __slots__ = ("_protocol", "_send")

    def __init__(self, protocol: Any, send: ASGISendCallable) -> None:
        super().__init__()
        self._protocol = protocol
        self._send = send
        protocol.unregisterProducer()  # of the HTTP request that was upgraded to this websocket
        protocol.registerProducer(self, True)

    async def send(self, message: ASGISendEvent) -> None:
        """Send a message once there is room."""
        # A close does not wait: Daphne drops the connection if the browser does not acknowledge the close.
        if message["type"] != "websocket.close":
            await self.wait_for_room()
        if message["type"] == "websocket.send" and len(message["text"] or "") > FRAGMENT_CHARACTERS:
            await self._send_in_fragments(message["text"] or "")
            return
        # Daphne applies its limit for incoming messages to outgoing messages as well: lift it while sending.
        protocol = self._protocol
        limit = protocol.maxMessagePayloadSize
        protocol.maxMessagePayloadSize = 0
        try:
            await self._send(message)  # does not yield, so no incoming message escapes the limit
        finally:
            protocol.maxMessagePayloadSize = limit

    async def _send_in_fragments(self, text: str) -> None:
        """Send a websocket message in fragments (RFC 6455, section 5.4), each of which waits for room."""
        protocol = self._protocol
        for start in range(0, len(text), FRAGMENT_CHARACTERS):
            await self.wait_for_room()
            if protocol.state != protocol.STATE_OPEN:
                return  # The browser has closed the socket. No data may follow (section 5.5.1).
            end = start + FRAGMENT_CHARACTERS
            # Opcode 1 begins a text message, 0 continues it.
            protocol.sendFrame(0 if start else 1, text[start:end].encode(), fin=end >= len(text))


def _send_to_stream(protocol: Any, send: ASGISendCallable) -> ASGISendCallable:
    watch = _BufferWatch()
    protocol.registerProducer(watch, True)

    async def send_with_room(message: ASGISendEvent) -> None:
        # The last piece does not wait: Twisted drops the connection if the browser reads nothing for a minute.
        if message["type"] == "http.response.body" and not message.get("more_body"):
            if protocol.channel is not None:  # the browser is still there
                protocol.unregisterProducer()
        else:
            await watch.wait_for_room()
        await send(message)

    return send_with_room


def shut_down_before_reactor() -> None:
    """Register `shut_down` to run before Daphne's reactor stops; do nothing under another server or in tests."""
    if "twisted.internet.reactor" not in sys.modules:
        return
    from twisted.internet import defer, interfaces, reactor

    def start_shutdown() -> defer.Deferred[None]:
        return defer.Deferred.fromFuture(asyncio.ensure_future(shut_down()))

    interfaces.IReactorCore(reactor).addSystemEventTrigger("before", "shutdown", start_shutdown)  # type: ignore[arg-type]  # zope interfaces have no self
