"""Viewers: show one browser tab the news of its session, or of the user's list of sessions.

    hub --> SessionFeed -- take() --> BrowserEncoder -- frames --> FrameSender --> socket or stream

A task takes the updates, and ends when there are none, so an idle tab has no task.

    new --- first message, from any tab ---> open
"""

import asyncio
import time
from functools import partial
from uuid import UUID

from sessions_app.chat import protocol
from sessions_app.chat.browser_encoder import BrowserEncoder
from sessions_app.chat.frame_sender import FrameSender, Transport
from sessions_app.chat.server_frames import ActivityFrame, ReadyForListFrame, ReadyFrame, SessionsFrame
from sessions_app.live.list_news import ListChange
from sessions_app.live.process import live
from sessions_app.live.session_feed import SessionFeed
from sessions_app.rendering.session_view import Reader
from sessions_app.sessions.ownership import User
from sessions_app.store.sql import event_log

GREETING_SECONDS = 1.0
"""Minimum time between two greetings; each reads the session's status, jobs and schedules."""


class ListViewer:
    """Tell the tab of changes of the user's list of sessions, and of the activity in it.

    Args:
        subject: names what the tab follows, for the log.

    Attributes:
        sender: sends the frames, and the replies to the tab's own frames.
    """

    def __init__(self, user: User, subject: str, transport: Transport) -> None:
        self._user_id = user.pk
        # A socket may leave after the process has closed its live view. `live()` would then start another.
        self._list_news = live().list_news
        self.sender = FrameSender(subject, Reader.of(user), transport, source=self)

    async def on_hello(self, after: int) -> None:
        """Answer the tab's greeting."""
        self.sender.post(ReadyForListFrame().json())

    def follow_list(self) -> None:
        """Send a frame whenever the user's list of sessions, or the activity in it, changes. Idempotent."""
        self._list_news.watch(self._user_id, self._on_list_change)

    def _on_list_change(self, change: ListChange) -> None:
        frame = ActivityFrame() if change is ListChange.ACTIVITY else SessionsFrame()
        self.sender.post(frame.json())

    @property
    def is_full(self) -> bool:
        """False: frames about the list are replies, which the sender bounds."""
        return False

    def on_drop(self) -> None:
        """Do nothing: the frames say only that the list has changed, and a later change says so again."""

    def leave(self) -> None:
        """Stop watching the list."""
        self._list_news.unwatch(self._user_id, self._on_list_change)


class SessionViewer(ListViewer):
    """Greet the tab, and send the updates of a feed as frames.

    Attributes:
        is_new: True until the first message has created the session.
    """

    def __init__(self, session_id: UUID, user: User, transport: Transport) -> None:
        super().__init__(user, f"session {session_id}", transport)
        self.session_id = session_id
        self._encoder = BrowserEncoder(session_id, "", Reader.of(user))
        self._hub = live().hub
        self._feed = SessionFeed(
            session_id,
            user.pk,
            restarts_text=True,
            on_wake=self._on_wake,
            on_full=self.sender.on_full,
            # Encoded as the text arrives: `draw_next` returns what a piece changes once, to the first caller.
            on_text=self._encoder.text_frame,
        )
        self.is_new = False
        # True from the first greeting on: before it the browser has not said what it has.
        self._is_open = False
        self._is_sending = False
        self._next_greeting_at = 0.0
        self._greeting: asyncio.Task[None] | None = None

    async def on_hello(self, after: int) -> None:
        """Send the session's status, then the events after `after` that this socket has not sent yet.

        Greetings are at least `GREETING_SECONDS` apart: requests in between are answered by one later greeting.
        """
        wait = self._next_greeting_at - time.monotonic()
        if wait <= 0:
            self._next_greeting_at = time.monotonic() + GREETING_SECONDS
            await self._greet(after)
        elif self._greeting is None or self._greeting.done():
            self._greeting = self.sender.start(partial(self._greet_later, wait))

    async def _greet_later(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._next_greeting_at = time.monotonic() + GREETING_SECONDS
        await self._greet(0)  # The feed knows the last event that it returned, so 0 repeats nothing.

    async def _greet(self, after: int) -> None:
        if self.is_new:
            # Expect first, query second: in the other order a session created in between would be missed.
            self._hub.expect(self.session_id, self._on_created)
            if await event_log.session_status(self.session_id, self._user_id) is not None:
                self._on_created()
            elif self.is_new:
                self.sender.post(ReadyFrame(self.session_id, 0, None, [], []).json())
        else:
            self._is_open = True
            self._feed.greet(after)

    def expect_session(self, app_name: str) -> None:
        """Show a session that does not exist yet. Its first message, from any tab, creates it with this app."""
        self.is_new = True
        self._encoder.show_app(app_name)

    def begin(self) -> None:
        """Show the session that the first message of this socket has just created."""
        self.is_new = False
        self._is_open = True
        self._feed.begin()
        self._hub.stop_expecting(self.session_id, self._on_created)

    def _on_created(self) -> None:
        """Greet the browser after another tab, or another user, has created the session."""
        if self.is_new:  # `begin` may have been faster.
            # If the session belongs to another user, the feed finds out and ends the viewer.
            self.is_new = False
            self._is_open = True
            self._feed.greet()

    def _on_wake(self) -> None:
        """Start to send updates, after the first greeting and unless a task is sending them."""
        if self._feed.reason:
            # A new task: the sending task may be blocked by a browser that does not read.
            self.sender.start(partial(self.sender.end, protocol.CLOSE_NOT_FOUND))
        elif self._is_open and not self._is_sending and not self.sender.has_ended:
            self._is_sending = True
            self.sender.start(self._send_updates)

    async def _send_updates(self) -> None:
        try:
            while update := await self._feed.take():
                frame = await self._encoder.frame(update)
                if not frame:
                    return
                await self.sender.send(frame)
        finally:
            # No await between the last `take` and this line, so `_on_wake` cannot miss an update in between.
            self._is_sending = False

    @property
    def is_full(self) -> bool:
        return self._feed.is_full

    def on_drop(self) -> None:
        """Greet again: the dropped reply may have been news, and a greeting repeats the status of the session."""
        self._feed.greet()

    def leave(self) -> None:
        """Stop watching the list and the session."""
        super().leave()
        self._feed.leave()
        self._hub.stop_expecting(self.session_id, self._on_created)
