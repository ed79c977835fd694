"""ChatConsumer: one browser tab that watches one session (design.md, "Websocket protocol")."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any
from uuid import UUID

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from pydantic import ValidationError

from runtime.errors import AdkError
from sessions_app import hot_path, protocol
from sessions_app.codec import event_from_json
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError
from sessions_app.jobs.listing import jobs_of_session
from sessions_app.live.process import live
from sessions_app.notices import job_fields, schedule_fields
from sessions_app.protocol import AnyClientFrame, EventNews, Hello, Message, Ping
from sessions_app.rendering import render_event
from sessions_app.requests import carry_out
from sessions_app.rewound import rewound_from
from sessions_app.scheduling.listing import tasks_of_session

CATCH_UP_ROWS = 200


class ChatConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no type hints
    """Sends what is new in the session, in order and once; takes messages and stops.

    `_seq` is the last event sent. News that follow it directly are passed on; for everything else it reads
    PostgreSQL. It has no channel of its own: the process's hub calls it.
    """

    channel_layer_alias = "none"  # no channel for each socket: the hub brings the news

    async def connect(self) -> None:
        """Let in the session's owner; everyone else learns nothing but the close code."""
        self._session_id: UUID = self.scope["url_route"]["kwargs"]["session_id"]
        self._user = self.scope["user"]
        self._seq = 0
        self._outgoing: deque[str] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._catching_up: asyncio.Task[None] | None = None
        self._minute, self._frames = 0, 0
        await self.accept()
        if not self._user.is_authenticated:
            await self.close(protocol.CLOSE_NOT_SIGNED_IN)
        elif await hot_path.standing(self._session_id, self._user.pk) is None:
            await self.close(protocol.CLOSE_NOT_FOUND)

    async def disconnect(self, code: int) -> None:
        """Stop watching. What runs goes on."""
        live().hub.unwatch(self._session_id, self)
        for task in (self._sending, self._catching_up):
            if task is not None:
                task.cancel()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """As Channels does, but without asking Django's thread to close connections: no frame needs one."""
        await getattr(self, get_handler_name(message))(message)

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
            self._post(protocol.error_frame(error, reply_to))

    # What the hub brings

    def event(self, news: EventNews) -> None:
        """An event was committed in this process."""
        if news.seq == self._seq + 1:
            self._seq = news.seq
            self._post(news.frame)
        else:
            self.hint(news.seq)

    def hint(self, seq: int) -> None:
        """The log has reached `seq`."""
        if seq > self._seq and (self._catching_up is None or self._catching_up.done()):
            self._catching_up = asyncio.create_task(self._catch_up(), name="consumer: catch up")

    def fragment(self, frame: str) -> None:
        """Text has grown."""
        self._post(frame)

    def notice(self, frame: str) -> None:
        """An invocation, a job or a scheduled task has changed."""
        self._post(frame)

    def gone(self) -> None:
        """The session was deleted."""
        asyncio.create_task(self.close(protocol.CLOSE_NOT_FOUND))  # noqa: RUF006 - closes itself

    # Frames

    async def _take(self, frame: AnyClientFrame) -> None:
        match frame:
            case Hello(after=after):
                await self._greet(after)
            case Ping():
                self._post(protocol.frame("pong"))
            case _:
                await carry_out(frame, self._user, self._session_id)

    async def _greet(self, after: int) -> None:
        """Say where the session stands, then send what the browser lacks, then what happens."""
        standing = await hot_path.standing(self._session_id, self._user.pk)
        if standing is None:
            await self.close(protocol.CLOSE_NOT_FOUND)
            return
        jobs = [job_fields(job) for job in await jobs_of_session(self._session_id)]
        schedules = [schedule_fields(task) for task in await tasks_of_session(self._session_id)]
        self._seq = min(after, standing.last_seq)
        invocation = None
        if standing.invocation:
            invocation = {"id": standing.invocation[0], "status": standing.invocation[1]}
        ready = protocol.ready_frame(
            self._session_id, standing.last_seq, invocation=invocation, jobs=jobs, schedules=schedules
        )
        self._post(ready)
        live().hub.watch(self._session_id, self)
        if invocation:
            live().hub.want_text(self._session_id)
        self.hint(standing.last_seq)

    async def _catch_up(self) -> None:
        """Send what the log has and the browser has not."""
        while rows := await hot_path.events_after(self._session_id, self._seq, CATCH_UP_ROWS):
            for seq, body in rows:
                event = event_from_json(body)
                is_rewind = event.actions.rewind_before_invocation_id is not None
                rewound = await rewound_from(self._session_id, seq) if is_rewind else None
                if seq > self._seq:
                    self._seq = seq
                    html = render_event(self._session_id, seq, event)
                    self._post(protocol.event_frame(seq, body, html, rewound))

    def _post(self, frame: str) -> None:
        self._outgoing.append(frame)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_outgoing(), name="consumer: send")

    async def _send_outgoing(self) -> None:
        while self._outgoing:
            await self.base_send({"type": "websocket.send", "text": self._outgoing.popleft()})

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
        await self.send(text_data=protocol.error_frame(InvalidInputError(refusal[0])))
        await self.close(refusal[1])
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
