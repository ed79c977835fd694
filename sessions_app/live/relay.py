"""Relay: carries news between processes over the channel layer, gathered into few messages.

All processes share one group, and each has one channel in it, so the cost of a message does not depend on the number
of sessions in it. A lost message delays news but loses none: the slow tick reads PostgreSQL.
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
from sessions_app.live.frames import NOTICE_TYPES, InvocationFrame, Notice
from sessions_app.live.hub import Hub
from sessions_app.live.streamed_text import StreamKey, TextChunk

logger = logging.getLogger(__name__)
GROUP = "adk.live"
STOP = "stop"
FLUSH_SECONDS = 1.0
MOST_NEWS = 1_000
"""News kept for other processes while Redis is away; the oldest are dropped first."""


class Relay:
    """Outbox of a hub, and listener for the news of other processes.

    Attributes:
        on_cancel: called with the id of an invocation that another process wants cancelled.
        on_sign_out: called with the digest of a Django session that was signed out elsewhere.
        on_account_change: called with the id of a user whose account was changed elsewhere.
        on_list_change: called with the id of a user whose list of sessions was changed elsewhere.
    """

    def __init__(self) -> None:
        self._process_id = uuid4().hex
        self._hub: Hub | None = None
        self._channel = ""
        self._unsent: list[dict[str, Any]] = []
        self._sending: asyncio.Task[None] | None = None
        self._is_urgent = asyncio.Event()
        self._has_joined = asyncio.Event()
        self._is_stopped = False
        self._next_send_at = 0.0
        self.on_cancel: Callable[[str], object] | None = None
        self.on_sign_out: Callable[[str], object] | None = None
        self.on_account_change: Callable[[str], object] | None = None
        self.on_list_change: Callable[[str], object] | None = None

    # Sending

    def send_log_position(self, session_id: UUID, seq: int) -> None:
        """Report that the log has reached `seq`."""
        self._post({"kind": "event", "session": str(session_id), "seq": seq})

    def send_text(self, session_id: UUID, chunk: TextChunk) -> None:
        """Send text that is streamed here."""
        self._post({"kind": "text", "session": str(session_id), **asdict(chunk)})

    def send_notice(self, session_id: UUID, notice: Notice) -> None:
        """Send a change of an invocation, a job or a scheduled task."""
        values = {"kind": notice.type, "fields": asdict(notice)}
        self._post({"kind": "notice", "session": str(session_id), "notice": values})

    def request_text(self, session_id: UUID) -> None:
        """Ask for the text streamed so far, and for all that follows."""
        self._post({"kind": "want_text", "session": str(session_id)})

    def send_cancel(self, invocation_id: str) -> None:
        """Ask the process that runs the invocation to cancel it, without waiting for more news to send with it."""
        self._post({"kind": "cancel", "invocation": invocation_id})
        self._is_urgent.set()

    def send_sign_out(self, session_digest: str) -> None:
        """Report that a person has signed out."""
        self._post({"kind": "sign_out", "digest": session_digest})
        self._is_urgent.set()

    def send_account_change(self, user_id: str) -> None:
        """Report that a user's account was changed."""
        self._post({"kind": "account", "user": user_id})
        self._is_urgent.set()

    def send_list_change(self, user_id: str) -> None:
        """Report that a user's list of sessions has changed."""
        self._post({"kind": "sessions", "user": user_id})

    @property
    def sending(self) -> asyncio.Task[None] | None:
        """Task that sends news, or has sent the latest; None when there were none."""
        return self._sending

    def _post(self, news: dict[str, Any]) -> None:
        if self._is_stopped:  # Nobody would end a task that sends them.
            return
        self._unsent.append(news)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all(), name="relay: send")

    async def _send_all(self) -> None:
        """Send the first news after a silence at once, then one message every `relay_seconds` or when urgent."""
        if self._hub is not None:  # Other processes may reply, so join the group first.
            await _wait(self._has_joined, conf().heartbeat_seconds)
        while self._unsent:
            await _wait(self._is_urgent, self._next_send_at - time.monotonic())
            self._next_send_at = time.monotonic() + conf().relay_seconds
            news, self._unsent = self._unsent, []
            self._is_urgent.clear()
            message = {"type": "news", "from": self._process_id, "news": news}
            try:
                async with asyncio.timeout(conf().heartbeat_seconds):
                    await get_channel_layer().group_send(GROUP, message)
            except Exception:  # Redis may be away. News are hints; PostgreSQL has the truth.
                logger.warning(
                    "News for other processes are kept: the channel layer does not answer", exc_info=True
                )
                self._unsent = [*news, *self._unsent][-MOST_NEWS:]
                await asyncio.sleep(conf().heartbeat_seconds)

    async def flush(self) -> None:
        """Send the unsent news now, within a second if Redis answers."""
        self._is_urgent.set()
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=FLUSH_SECONDS)

    # Listening

    async def listen(self, hub: Hub) -> None:
        """Pass the news of other processes to the hub until `stop`."""
        self._hub = hub
        layer = get_channel_layer()
        self._channel = await layer.new_channel("adk.live")
        while True:
            try:
                await self.join()
                for session_id in hub.watched():  # Text sent before the join did not arrive here.
                    hub.request_text(session_id)
                while (message := await layer.receive(self._channel))["type"] != STOP:
                    self._receive(message)
                return
            except Exception:  # Redis may be away.
                logger.warning("The channel layer does not answer; trying again", exc_info=True)
                await asyncio.sleep(conf().heartbeat_seconds)

    async def stay_joined(self) -> None:
        """Join the group again on every heartbeat: a restarted Redis has forgotten its members."""
        while True:
            await asyncio.sleep(conf().heartbeat_seconds)
            try:
                async with asyncio.timeout(conf().heartbeat_seconds):
                    await self.join()
            except Exception:  # Redis may be away.
                logger.warning("The channel layer cannot be joined; trying again", exc_info=True)

    async def join(self) -> None:
        """Join the group of all processes. Idempotent."""
        if self._channel:
            await get_channel_layer().group_add(GROUP, self._channel)
            self._has_joined.set()

    async def stop(self) -> None:
        """Send the unsent news, then end `listen` by a message: a wait for Redis cannot be cancelled.

        News that come later are dropped.
        """
        self._is_stopped = True
        if self._sending:
            await asyncio.wait([self._sending])
        if self._channel:
            await get_channel_layer().group_discard(GROUP, self._channel)
            await get_channel_layer().send(self._channel, {"type": STOP})

    def _receive(self, message: dict[str, Any]) -> None:
        if message["from"] == self._process_id:
            return
        for news in message["news"]:
            try:
                self._dispatch(news)
            except Exception:  # During an upgrade a process may send what this one does not know.
                logger.exception("News of the kind %r cannot be used; the others are", news.get("kind"))

    def _dispatch(self, news: dict[str, Any]) -> None:
        assert self._hub is not None  # noqa: S101 - set by `listen`
        kind = news["kind"]
        if kind in ("cancel", "sign_out", "account", "sessions"):
            self._dispatch_to_process(kind, news)
            return
        session_id = UUID(news["session"])
        if kind == "event":
            self._hub.receive_log_position(session_id, news["seq"])
        elif kind == "text":
            chunk = TextChunk(StreamKey(**news["stream"]), news["offset"], news["text"])
            self._hub.receive_text(session_id, chunk)
        elif kind == "notice":
            self._receive_notice(self._hub, session_id, news["notice"])
        elif kind == "want_text":
            self._hub.receive_text_request(session_id)

    def _dispatch_to_process(self, kind: str, news: dict[str, Any]) -> None:
        """Pass on news that belong to no session's viewers."""
        if kind == "cancel" and self.on_cancel:
            self.on_cancel(news["invocation"])
        elif kind == "sign_out" and self.on_sign_out:
            self.on_sign_out(news["digest"])
        elif kind == "account" and self.on_account_change:
            self.on_account_change(news["user"])
        elif kind == "sessions" and self.on_list_change:
            self.on_list_change(news["user"])

    def _receive_notice(self, hub: Hub, session_id: UUID, values: dict[str, Any]) -> None:
        notice = NOTICE_TYPES[values["kind"]](**values["fields"])
        hub.receive_notice(session_id, notice)
        if isinstance(notice, InvocationFrame) and notice.is_running and hub.watchers(session_id):
            self.request_text(session_id)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, at most so many seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
