"""ChatConsumer: one browser tab that watches one session (design.md, "Websocket protocol")."""

from __future__ import annotations

import logging
import time
from typing import Any
from uuid import UUID

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from pydantic import ValidationError

from runtime.errors import AdkError
from sessions_app.chat import protocol
from sessions_app.chat.frame_handlers import carry_out
from sessions_app.chat.protocol import AnyClientFrame, Hello, Message, Ping
from sessions_app.chat.viewer import Viewer
from sessions_app.conf import conf
from sessions_app.db import event_log
from sessions_app.db.pool import UNAVAILABLE
from sessions_app.errors import InvalidInputError

logger = logging.getLogger(__name__)


class ChatConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no type hints
    """Takes messages and stops; what the browser sees is its viewer's. It has no channel of its own."""

    channel_layer_alias = "none"  # no channel for each socket: the hub brings the news

    async def connect(self) -> None:
        """Let in the session's owner; everyone else learns nothing but the close code."""
        self._session_id: UUID = self.scope["url_route"]["kwargs"]["session_id"]
        self._user = self.scope["user"]
        self._viewer = Viewer(self._session_id, self._user.pk, send=self._send_frame, close=self.close)
        self._minute, self._frames = 0, 0
        await self.accept()
        if not self._user.is_authenticated:
            await self._viewer.end(protocol.CLOSE_NOT_SIGNED_IN)
        elif await event_log.session_status(self._session_id, self._user.pk) is None:
            await self._viewer.end(protocol.CLOSE_NOT_FOUND)

    async def disconnect(self, code: int) -> None:
        """Stop watching. What runs goes on."""
        self._viewer.leave()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """As Channels does, but without asking Django's thread to close connections: no frame needs one."""
        try:
            await getattr(self, get_handler_name(message))(message)
        except UNAVAILABLE as error:
            logger.warning(
                "A socket of session %s is closed: PostgreSQL is away (%s)", self._session_id, error
            )
            await self._viewer.end(protocol.CLOSE_TRY_AGAIN)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Take a frame. A bad one is answered with an error, and the socket stays open."""
        if not await self._is_allowed(text_data):
            return
        reply_to = None
        try:
            frame = _parse(text_data)
            reply_to = frame.id if isinstance(frame, Message) else None
            await self._take(frame)
        except AdkError as error:
            self._viewer.post(protocol.error_frame(error, reply_to))

    async def _take(self, frame: AnyClientFrame) -> None:
        match frame:
            case Hello(after=after):
                await self._viewer.greet(after)
            case Ping():
                self._viewer.post(protocol.pong_frame())
            case _:
                await carry_out(frame, self._user, self._session_id)

    async def _send_frame(self, frame: str) -> None:
        await self.base_send({"type": "websocket.send", "text": frame})

    async def _is_allowed(self, text: str | None) -> bool:
        """Refuse what is too large or comes too fast: an error, then the close code that says which."""
        minute = int(time.monotonic() // 60)
        self._frames = self._frames + 1 if minute == self._minute else 1
        self._minute = minute
        if text is not None and len(text) > conf().frame_limit:
            refusal = f"The frame is larger than {conf().frame_limit} characters.", protocol.CLOSE_TOO_LARGE
        elif self._frames > conf().frames_per_minute:
            refusal = f"More than {conf().frames_per_minute} frames in a minute.", protocol.CLOSE_TOO_MANY
        else:
            return True
        await self._viewer.end(refusal[1], protocol.error_frame(InvalidInputError(refusal[0])))
        return False


def _parse(text: str | None) -> AnyClientFrame:
    if text is None:
        raise InvalidInputError("Frames are text with JSON, not binary.")
    try:
        return protocol.client_frame.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or "frame"
        raise InvalidInputError(f"The frame cannot be used: {place}: {first['msg']}.") from error
