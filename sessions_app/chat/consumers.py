"""ChatConsumer: the websocket of one browser tab on one session."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from channels.consumer import get_handler_name
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from pydantic import ValidationError

from runtime.errors import AdkError
from sessions_app import use_cases
from sessions_app.chat import protocol
from sessions_app.chat.frame_handlers import handle_frame
from sessions_app.chat.protocol import AnyClientFrame, Hello, Message, Ping
from sessions_app.chat.viewer import Viewer
from sessions_app.client_address import client_network
from sessions_app.conf import conf
from sessions_app.db import event_log
from sessions_app.db.pool import UNAVAILABLE
from sessions_app.errors import InvalidInputError
from sessions_app.limits import allowance
from sessions_app.limits.open_sockets import open_sockets
from sessions_app.limits.rates import rates
from sessions_app.live.frames import PongFrame
from sessions_app.live.process import live
from sessions_app.live.sign_ins import SignIn
from sessions_app.ownership import may_create_session

logger = logging.getLogger(__name__)


class ChatConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no type hints
    """Handles the frames of the browser. A viewer sends the frames to the browser."""

    channel_layer_alias = "none"  # The hub brings the news, so a socket needs no channel of its own.

    async def connect(self) -> None:
        """Accept the session's owner. Everyone else gets a close code and nothing more."""
        self._session_id: UUID = self.scope["url_route"]["kwargs"]["session_id"]
        self._user = self.scope["user"]
        self._viewer = Viewer(self._session_id, self._user, send=self._send_frame, close=self.close)
        self._network = client_network(self.scope)
        self._socket_id = ""
        await self.accept()
        if not self._user.is_authenticated:
            await self._viewer.end(protocol.CLOSE_NOT_SIGNED_IN)
            return
        self._sign_in = SignIn.of_scope(self.scope)
        self._sign_ins = live().sign_ins
        self._sign_ins.watch(self._sign_in, self._viewer.on_signed_out)
        if not await self._is_within_open_sockets():
            return
        if self._new_app and await may_create_session(self._new_app, self._session_id):
            self._viewer.expect_session(self._new_app)
        elif await event_log.session_status(self._session_id, self._user.pk) is None:
            await self._viewer.end(protocol.CLOSE_NOT_FOUND)

    @property
    def _new_app(self) -> str:
        """App with which the first message creates the session: `?new=` in the address of the socket."""
        values = parse_qs(self.scope.get("query_string", b"").decode("ascii", "replace"))
        return str(values.get("new", [""])[0])

    async def disconnect(self, code: int) -> None:
        """Stop watching. Running invocations go on."""
        if self._user.is_authenticated:
            self._sign_ins.unwatch(self._sign_in, self._viewer.on_signed_out)
            open_sockets().close(self._socket_id)
        self._viewer.leave()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler of a message, as Channels does.

        Unlike Channels it does not close old connections in Django's thread: handlers hold none.
        """
        try:
            await getattr(self, get_handler_name(message))(message)
        except UNAVAILABLE as error:
            logger.warning("Closing a socket of session %s: PostgreSQL is away (%s)", self._session_id, error)
            await self._viewer.end(protocol.CLOSE_TRY_AGAIN)
        except StopConsumer:
            raise
        except Exception as error:  # noqa: BLE001 - logged, and told to the browser
            await self._viewer.fail(error)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Handle a frame. A frame that is bad or fails is answered with an `error` frame; the socket stays open.

        A `hello` that fails closes the socket, because the browser waits for `ready`.
        """
        if self._viewer.has_ended or not await self._is_within_limits(text_data):
            return
        reply_to = None
        try:
            frame = _parse(text_data)
            reply_to = frame.id if isinstance(frame, Message) else None
            await self._handle(frame)
        except AdkError as error:
            self._viewer.post(protocol.error_frame(error, reply_to).json())

    async def _handle(self, frame: AnyClientFrame) -> None:
        match frame:
            case Hello():
                await self._viewer.on_hello(frame.after)
                if frame.list:
                    self._viewer.follow_list()
            case Ping():
                self._viewer.post(PongFrame().json())
            case _:
                await self._write(frame)

    async def _write(self, frame: AnyClientFrame) -> None:
        """Handle a frame that changes something, if its person is still signed in."""
        try:
            if not await self._sign_ins.is_valid(self._sign_in):
                await self._viewer.end(protocol.CLOSE_NOT_SIGNED_IN)
                return
            if self._viewer.is_new and isinstance(frame, Message):
                await self._begin_session(frame)
            await handle_frame(frame, self._user, self._session_id)
        except (AdkError, *UNAVAILABLE):
            raise
        except Exception as error:  # noqa: BLE001 - logged, and told to the browser
            reference = self._viewer.log_failure(error)
            reply_to = frame.id if isinstance(frame, Message) else None
            self._viewer.post(protocol.failure_frame(reference, reply_to).json())

    async def _begin_session(self, first: Message) -> None:
        files = [(file.name, file.version) for file in first.files]
        await use_cases.begin_session(
            self._user, self._session_id, self._new_app, first.text, files, self._network
        )
        self._viewer.begin()

    async def _send_frame(self, frame: str) -> None:
        await self.base_send({"type": "websocket.send", "text": frame})

    async def _is_within_open_sockets(self) -> bool:
        """Return False when too many sockets are open, after an `error` frame and a close code."""
        opened = await open_sockets().open(allowance.open_sockets(self._user.pk, self._network))
        if isinstance(opened, str):
            self._socket_id = opened
            return True
        message = f"{opened.most} connections are open already. Close other tabs of this site."
        await self._refuse(message, protocol.CLOSE_TOO_MANY)
        return False

    async def _is_within_limits(self, text: str | None) -> bool:
        """Return False for a frame above the size or rate limit, after an `error` frame and a close code."""
        if exceeded := rates().count(allowance.frames(self._user.pk, self._network)):
            message = f"More than {exceeded.allowance.most} frames in a minute. Wait a minute."
            await self._refuse(message, protocol.CLOSE_TOO_MANY)
            return False
        if text is not None and len(text) > conf().frame_limit:
            await self._refuse(
                f"The frame is larger than {conf().frame_limit} characters.", protocol.CLOSE_TOO_LARGE
            )
            return False
        return True

    async def _refuse(self, message: str, code: int) -> None:
        await self._viewer.end(code, protocol.error_frame(InvalidInputError(message)).json())


def _parse(text: str | None) -> AnyClientFrame:
    if text is None:
        raise InvalidInputError("Send frames as text with JSON, not as binary data.")
    try:
        return protocol.client_frame.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(step) for step in first["loc"]) or "frame"
        raise InvalidInputError(f"The frame cannot be used: {field}: {first['msg']}.") from error
