"""Daphne's websockets in less memory: an idle one keeps no empty queues, no copy of its options, and no handshake."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from types import MappingProxyType
from typing import Any

from daphne import cli, server, ws_protocol

ASGI = {"version": "3.0"}
NO_HEADERS = MappingProxyType[str, str]({})
SPENT = ("http_request_data", "http_response_data", "http_status_line", "clean_headers")
"""Attributes of a socket that nobody reads once it is open."""


def keep_sockets_small() -> None:
    """Let Daphne serve websockets with the classes of this module."""
    cli.CommandLineInterface.server_class = _Server
    server.WebSocketFactory = SocketFactory


class Inbox:
    """Messages for the application of one socket. An empty queue of asyncio takes 3.5 KB, for its four deques.

    One task at a time may wait for a message.
    """

    __slots__ = ("_arrival", "_messages")

    def __init__(self) -> None:
        self._messages: deque[Any] | None = None  # None while there is no message.
        self._arrival: asyncio.Future[None] | None = None

    def put_nowait(self, message: Any) -> None:
        """Add a message."""
        if self._messages is None:
            self._messages = deque()
        self._messages.append(message)
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    async def get(self) -> Any:
        """Remove and return the oldest message; wait for one if there is none."""
        while self._messages is None:
            self._arrival = asyncio.get_running_loop().create_future()
            await self._arrival
        message = self._messages.popleft()
        if not self._messages:
            self._messages = None
        return message


class _Server(server.Server):  # type: ignore[misc]  # Daphne has no type hints
    """Daphne's server. An HTTP request, which is short, keeps the queue of asyncio."""

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Start the application of a connection; return the queue of its messages."""
        if scope["type"] != "websocket":
            return super().create_application(protocol, scope)
        inbox = Inbox()
        scope["asgi"] = ASGI
        application = self.application(
            scope=scope, receive=inbox.get, send=partial(self.handle_reply, protocol)
        )
        self.connections[protocol]["application_instance"] = asyncio.ensure_future(application)
        return inbox


class _Socket(ws_protocol.WebSocketProtocol):  # type: ignore[misc]  # Daphne has no type hints
    """Daphne's websocket. autobahn copies into a socket only the options that the class does not have."""

    def onOpen(self) -> None:
        """Drop the handshake, which is complete."""
        super().onOpen()
        self.http_headers = self.request.headers = NO_HEADERS
        for name in SPENT:
            self.__dict__.pop(name, None)


class SocketFactory(ws_protocol.WebSocketFactory):  # type: ignore[misc]  # Daphne has no type hints
    """Daphne's factory of websockets. Their options are attributes of their class.

    Without copies of the 28 options a socket has at most 85 attributes, which fit in a dictionary of half the size.
    """

    protocol = _Socket

    def setProtocolOptions(self, **options: Any) -> None:
        """Set options of all sockets."""
        super().setProtocolOptions(**options)
        for name in _Socket.CONFIG_ATTRS:
            value = getattr(self, name)
            setattr(_Socket, name, staticmethod(value) if callable(value) else value)
