"""Relay: carries news between processes over the channel layer, gathered into few messages.

One channel for a process, one group for all: what a message costs does not depend on how many sessions it speaks of.
A lost message delays, and loses nothing: whoever watches asks PostgreSQL on a slow tick.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any
from uuid import UUID, uuid4

from channels.layers import get_channel_layer

from sessions_app.conf import conf
from sessions_app.live.frames import Notice
from sessions_app.live.hub import Hub
from sessions_app.live.streamed_text import StreamKey, TextChunk

logger = logging.getLogger(__name__)
GROUP = "adk.live"
STOP = "stop"
FLUSH_SECONDS = 1.0
MOST_NEWS = 1_000
"""What is kept for other processes while Redis is away: the latest."""


class Relay:
    """The outbox of a hub, and what listens for the other processes' news.

    Attributes:
        on_cancel: called with an invocation id that someone wants stopped.
    """

    def __init__(self) -> None:
        self._process = uuid4().hex
        self._hub: Hub | None = None
        self._channel = ""
        self._news: list[dict[str, Any]] = []
        self._sending: asyncio.Task[None] | None = None
        self._is_urgent = asyncio.Event()
        self._has_joined = asyncio.Event()
        self._next_at = 0.0
        self.on_cancel: Callable[[str], object] | None = None

    # Outbox

    def event(self, session_id: UUID, seq: int) -> None:
        """The log has reached `seq`."""
        self._post({"kind": "event", "session": str(session_id), "seq": seq})

    def chunk(self, session_id: UUID, chunk: TextChunk) -> None:
        """Text has grown here."""
        self._post({"kind": "text", "session": str(session_id), **asdict(chunk)})

    def notice(self, session_id: UUID, notice: Notice) -> None:
        """An invocation or a job has changed."""
        self._post({"kind": "notice", "session": str(session_id), "notice": asdict(notice)})

    def want_text(self, session_id: UUID) -> None:
        """Someone here watches and lacks the text so far."""
        self._post({"kind": "want_text", "session": str(session_id)})

    def cancel(self, invocation_id: str) -> None:
        """Ask whoever runs the invocation to stop it; this does not wait for more news to go with it."""
        self._post({"kind": "cancel", "invocation": invocation_id})
        self._is_urgent.set()

    def _post(self, news: dict[str, Any]) -> None:
        self._news.append(news)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send(), name="relay news")

    async def _send(self) -> None:
        """After some silence at once; then what gathers in `relay_seconds` goes in one message, or what is urgent."""
        if self._hub is not None:  # others may answer: that is to be heard
            await _wait(self._has_joined, conf().heartbeat_seconds)
        while self._news:
            await _wait(self._is_urgent, self._next_at - time.monotonic())
            self._next_at = time.monotonic() + conf().relay_seconds
            news, self._news = self._news, []
            self._is_urgent.clear()
            message = {"type": "news", "from": self._process, "news": news}
            try:
                async with asyncio.timeout(conf().heartbeat_seconds):
                    await get_channel_layer().group_send(GROUP, message)
            except Exception:  # Redis may be away: the news are hints, PostgreSQL has the truth
                logger.warning(
                    "News for other processes wait: the channel layer does not answer", exc_info=True
                )
                self._news = [*news, *self._news][-MOST_NEWS:]
                await asyncio.sleep(conf().heartbeat_seconds)

    async def flush(self) -> None:
        """Have told the others, if Redis is there, when this returns."""
        self._is_urgent.set()
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=FLUSH_SECONDS)

    # Listening

    async def listen(self, hub: Hub) -> None:
        """Bring other processes' news to the hub, until it is told to stop."""
        self._hub = hub
        layer = get_channel_layer()
        self._channel = await layer.new_channel("adk.live")
        while True:
            try:
                await self.join()
                for session_id in hub.watched():  # what was told before was told to others only
                    hub.want_text(session_id)
                while (message := await layer.receive(self._channel))["type"] != STOP:
                    self._receive(message)
                return
            except Exception:  # Redis may be away: see above
                logger.warning("The channel layer does not answer; trying again", exc_info=True)
                await asyncio.sleep(conf().heartbeat_seconds)

    async def stay_joined(self) -> None:
        """Join the group again and again: Redis may have been restarted and have forgotten it."""
        while True:
            await asyncio.sleep(conf().heartbeat_seconds)
            try:
                async with asyncio.timeout(conf().heartbeat_seconds):
                    await self.join()
            except Exception:  # Redis may be away: see above
                logger.warning("The channel layer cannot be joined; trying again", exc_info=True)

    async def join(self) -> None:
        """Join the group, so that other processes' news come. Safe to repeat."""
        if self._channel:
            await get_channel_layer().group_add(GROUP, self._channel)
            self._has_joined.set()

    async def stop(self) -> None:
        """Send what was posted, then let `listen` end: a message, since waiting for Redis cannot be cancelled."""
        if self._sending:
            await self._sending
        if self._channel:
            await get_channel_layer().group_discard(GROUP, self._channel)
            await get_channel_layer().send(self._channel, {"type": STOP})

    def _receive(self, message: dict[str, Any]) -> None:
        if message["from"] == self._process:
            return
        for news in message["news"]:
            self._take(news)

    def _take(self, news: dict[str, Any]) -> None:
        assert self._hub is not None  # noqa: S101 - set by listen
        kind = news["kind"]
        if kind == "cancel":
            if self.on_cancel:
                self.on_cancel(news["invocation"])
            return
        session_id = UUID(news["session"])
        if kind == "event":
            self._hub.hint(session_id, news["seq"])
        elif kind == "text":
            chunk = TextChunk(StreamKey(**news["stream"]), news["offset"], news["text"])
            self._hub.receive_chunk(session_id, chunk)
        elif kind == "notice":
            notice = Notice(**news["notice"])
            self._hub.show_notice(session_id, notice)
            if notice.begins_invocation and self._hub.watchers(session_id):
                self.want_text(session_id)
        elif kind == "want_text":
            self._hub.text_is_wanted(session_id)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """For the event, so long at most."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
