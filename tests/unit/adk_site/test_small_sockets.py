"""Daphne's websockets take little memory, and lose no message."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest
from daphne import http_protocol
from twisted.internet.testing import StringTransport

from adk_site.body_limit import _LimitedRequest
from adk_site.small_sockets import Inbox, SocketFactory

HANDSHAKE = b"""GET /ws/ HTTP/1.1
Host: site.example
Upgrade: websocket
Connection: Upgrade
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==
Sec-WebSocket-Version: 13
Cookie: secret=of-the-person
Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits

""".replace(b"\n", b"\r\n")
FRAME = bytes([0x81, 0x84, 0, 0, 0, 0]) + b"text"
MOST_ATTRIBUTES = 85
"""With one more, Python doubles the dictionary of the attributes."""


class Server:
    """Stands for Daphne's server: its one application is the queue of messages."""

    root_path, proxy_forwarded_address_header = "", None

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.ws_factory = socket_factory(self)

    def log_action(self, *args: Any) -> None:
        """Write no access log."""

    protocol_connected = protocol_disconnected = log_action

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Inbox:
        return self.inbox


def socket_factory(server: Server) -> SocketFactory:
    factory = SocketFactory(server)
    factory.setProtocolOptions(openHandshakeTimeout=0, maxMessagePayloadSize=1000)
    return factory


def open_socket(server: Server) -> tuple[Any, Any]:
    transport: Any = StringTransport()  # type: ignore[no-untyped-call]
    factory = http_protocol.HTTPFactory(server)
    factory.timeOut = None  # The reactor, which does not run, would keep the timer.
    connection = factory.buildProtocol(None)
    connection.makeConnection(transport)
    connection.dataReceived(HANDSHAKE)
    transport.unregisterProducer()  # as `with_backpressure` does
    transport.registerProducer(object(), streaming=True)
    socket = transport.protocol
    socket.serverAccept()
    return socket, transport


async def test_the_request_that_becomes_a_socket_is_not_left_to_the_garbage_collector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests: weakref.WeakSet[Any] = weakref.WeakSet()

    class Request(_LimitedRequest):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            requests.add(self)

    monkeypatch.setattr(http_protocol, "WebRequest", Request)
    gc.disable()
    try:
        socket, _ = open_socket(Server())
        assert socket.state == socket.STATE_OPEN
        assert not requests
    finally:
        gc.enable()


async def test_an_open_socket_has_few_attributes_and_no_handshake() -> None:
    server = Server()
    socket, transport = open_socket(server)
    assert transport.value().startswith(b"HTTP/1.1 101 ")
    assert b"Extensions" not in transport.value()
    socket.dataReceived(FRAME)
    assert await server.inbox.get() == {"type": "websocket.connect"}
    assert await server.inbox.get() == {"type": "websocket.receive", "text": "text"}
    assert len(vars(socket)) <= MOST_ATTRIBUTES
    assert "secret" not in f"{vars(socket)} {socket.request.headers}"


async def test_a_message_above_the_limit_of_the_options_closes_the_socket() -> None:
    server = Server()
    socket, transport = open_socket(server)
    socket.dataReceived(bytes([0x81, 0xFE, 1001 >> 8, 1001 & 255, 0, 0, 0, 0]) + b"x" * 1001)
    assert transport.disconnecting


async def test_messages_come_in_order_to_a_task_that_waits() -> None:
    inbox = Inbox()
    waiting = asyncio.create_task(inbox.get())
    await asyncio.sleep(0)
    for message in "abc":
        inbox.put_nowait(message)
    assert [await waiting, await inbox.get(), await inbox.get()] == ["a", "b", "c"]


async def test_a_task_that_stops_waiting_takes_no_message() -> None:
    inbox = Inbox()
    for has_message in (False, True):
        waiting = asyncio.create_task(inbox.get())
        await asyncio.sleep(0)
        if has_message:
            inbox.put_nowait("a")
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
    assert await inbox.get() == "a"
