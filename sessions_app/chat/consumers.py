"""Websocket of one browser tab on one session, or on the user's list of sessions.

Sites have many sockets and few of them are active, so an idle socket has to be small: about 20 KB with the person and
the session. Each part of Channels that this module replaces costs a task, a copy of the scope or a database
connection for every socket.
"""

import asyncio
from typing import Any

from channels.consumer import get_handler_name
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer

from runtime.errors import AdkError
from sessions_app.asgi.protocol import AsgiScope, Receive, Send
from sessions_app.chat import protocol
from sessions_app.chat.connection import TabConnection
from sessions_app.chat.frame_handlers import count_frame, handle_frame, handle_message
from sessions_app.chat.protocol import AnyClientFrame, Hello, Message, Ping
from sessions_app.chat.server_frames import PongFrame
from sessions_app.errors import InvalidInputError, LimitExceededError, TooLargeError
from sessions_app.process.failures import log_unexpected
from sessions_app.process.pool import UNAVAILABLE
from sessions_app.use_cases import NewChat


class ChatConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no type hints
    """Handle the frames from the browser. The connection's sender sends frames through it."""

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Handle the socket's messages one after the other."""
        # Channels also waits for messages of a channel layer, in tasks of 3 KB for each socket. The hub replaces them.
        self.scope = scope
        self.base_send = send
        # Here and not in `connect`: an error of the constructor is left to the server, as no sender could tell it.
        self._connection = TabConnection(scope, transport=self)
        self._viewer = self._connection.viewer
        self._sender = self._connection.sender
        try:
            while True:
                await self.dispatch(await receive())
                await asyncio.sleep(0)  # Other sockets have their turn between two frames of this one.
        except StopConsumer:
            return

    async def connect(self) -> None:
        """Accept the socket, then admit the session's owner; close the socket for anyone else."""
        # Accept before the checks: browsers hide the code of a close that precedes the acceptance.
        await self.accept()
        await self._connection.open()

    # Channels would close old database connections in Django's thread after a disconnect and before each other message.
    # The handlers hold none.

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        """Stop sending. Running invocations continue."""
        self._connection.leave()
        raise StopConsumer

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler of a message."""
        try:
            await getattr(self, get_handler_name(message))(message)
        except StopConsumer:
            raise
        except Exception as error:  # noqa: BLE001 - logged, and reported to the browser
            await self._sender.fail(error)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Handle a frame. If the frame is refused or fails, send an `error` frame and keep the socket open.

        Close the socket if the frame exceeds a limit, if the sign-in has ended, if PostgreSQL is away, or if a `hello`
        fails.
        """
        # Errors of a `hello` are left to `dispatch`, which closes: the browser would wait for `ready` forever.
        if self._sender.has_ended or not await self._count_frame(text_data or ""):
            return
        reply_to = None
        try:
            frame = protocol.parse(text_data)
            reply_to = protocol.reply_id(frame)
            await self._handle(frame)
        except AdkError as error:
            self._sender.post(protocol.error_frame(error, reply_to).json())

    async def _handle(self, frame: AnyClientFrame) -> None:
        match frame:
            case Hello():
                await self._viewer.on_hello(frame.after)
                if frame.list:
                    self._viewer.follow_list()
            case Ping():
                self._sender.post(PongFrame().json())
            case _:
                await self._write(frame)

    async def _write(self, frame: AnyClientFrame) -> None:
        """Handle a frame that changes something, if the user is still signed in."""
        connection = self._connection
        viewer = connection.session_viewer
        if viewer is None:
            raise InvalidInputError(
                "This connection has no chat. Send the frame on the connection of its chat."
            )
        try:
            # A sign-out in another process may not have reached this one yet.
            if not await connection.is_signed_in():
                await self._sender.end(protocol.CLOSE_NOT_SIGNED_IN)
                return
            if isinstance(frame, Message):
                new_chat = None
                if viewer.is_new:
                    new_chat = NewChat(
                        viewer.session_id, connection.new_app, connection.network, on_created=viewer.begin
                    )
                await handle_message(frame, connection.actor, viewer.session_id, new_chat)
            else:
                await handle_frame(frame, connection.actor, viewer.session_id)
        except (AdkError, *UNAVAILABLE):
            raise  # `receive` answers an AdkError; `dispatch` closes the socket while PostgreSQL is away.
        except Exception as error:
            raise log_unexpected(error, f"Serving session {viewer.session_id}") from error

    async def send(self, frame: str) -> None:
        """Send a frame to the browser."""
        await self.base_send({"type": "websocket.send", "text": frame})

    async def _count_frame(self, text: str) -> bool:
        """Count a frame; if it exceeds the limit on size or rate, close the socket and return False."""
        try:
            count_frame(text, self._connection.user, self._connection.network)
        except LimitExceededError as error:
            await self._sender.end(protocol.CLOSE_TOO_MANY, protocol.error_frame(error).json())
            return False
        except TooLargeError as error:
            await self._sender.end(protocol.CLOSE_TOO_LARGE, protocol.error_frame(error).json())
            return False
        return True
