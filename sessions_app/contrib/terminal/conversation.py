"""Conversation of a user with an agent: messages, and the updates that follow until nothing runs.

PostgreSQL decides if something runs, because other processes may run it. Updates of the feed only say when to ask
again: a lost one delays the end of an answer until the next, and a wrong one ends nothing early.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from uuid import UUID, uuid4

from sessions_app import use_cases
from sessions_app.base.actors import person
from sessions_app.contrib.terminal.display import is_end
from sessions_app.errors import NotFoundError
from sessions_app.live.session_feed import SessionFeed
from sessions_app.live.updates import EndUpdate, Update
from sessions_app.models import Session
from sessions_app.sessions.ownership import User, own_session
from sessions_app.store.sql.event_log import SessionStatus, session_status
from sessions_app.use_cases import NewChat

DELETED = "The conversation was deleted."


class Conversation:
    """A session of a user with an app: an earlier session, or a new session, which the first message creates."""

    def __init__(self, user: User, app_name: str, session: Session | None) -> None:
        self.user = user
        self.app_name = app_name
        self.session_id = session.pk if session else uuid4()
        self.is_new = session is None
        self.feed = SessionFeed(self.session_id, user.pk, after=session.last_seq if session else 0)
        self._has_begun = asyncio.Event()
        if session:
            self._has_begun.set()

    @classmethod
    async def open(cls, user: User, app_name: str, session_id: UUID | None) -> "Conversation":
        """Open a conversation. The updates of an earlier session begin after its last event.

        Raises:
            NotFoundError: the user has no such session with the app.
        """
        if session_id is None:
            return cls(user, app_name, None)
        session = await own_session(user, session_id)
        if session.app_name != app_name:
            raise NotFoundError(f"Session '{session_id}' is one with the app {session.app_name!r}.")
        return cls(user, app_name, session)

    async def send(self, text: str) -> str:
        """Send a message; return the id of its invocation. Raises the same as `send_message`."""
        chat: UUID | NewChat = self.session_id
        if self.is_new:
            chat = NewChat(self.session_id, self.app_name, on_created=self._begin)
        admitted = await use_cases.send_message(person(self.user), chat, uuid4().hex, text)
        return admitted.invocation_id

    def _begin(self) -> None:
        self.is_new = False
        self._has_begun.set()

    async def session(self) -> Session:
        return await own_session(self.user, self.session_id)

    async def news(self, *, with_jobs: bool = False) -> AsyncIterator[Update]:
        """Yield updates until no invocation is queued or running; with `with_jobs`, also until no job is.

        Raises:
            NotFoundError: the session was deleted.
        """
        while not _is_idle(await self._status(), with_jobs):
            has_changed = False
            while not has_changed:
                await self.wait_for_news()
                async for update in self.arrived():
                    has_changed = has_changed or is_end(update)
                    yield update
        # Events that were committed before the status was read.
        async for update in self.arrived():
            yield update

    async def wait_for_news(self) -> None:
        """Wait for an update. A new conversation has none before its first message."""
        await self._has_begun.wait()
        await self.feed.wait()

    async def arrived(self) -> AsyncIterator[Update]:
        """Yield the updates that have arrived.

        Raises:
            NotFoundError: the session was deleted.
        """
        while (update := await self.feed.take()) is not None:
            if isinstance(update, EndUpdate):
                raise NotFoundError(DELETED)
            yield update

    async def stop(self) -> None:
        """Cancel the running or first queued invocation, if any."""
        status = await self._status()
        if status.invocation:
            with suppress(NotFoundError):  # the session was deleted in the meantime
                await use_cases.cancel(person(self.user), self.session_id, status.invocation[0])

    async def _status(self) -> SessionStatus:
        """Return the session's status, and let the feed read up to its last event."""
        status = await session_status(self.session_id, self.user.pk)
        if status is None:
            raise NotFoundError(DELETED)
        self.feed.on_log_position(status.last_seq)
        return status


def _is_idle(status: SessionStatus, with_jobs: bool) -> bool:
    return not status.active if with_jobs else status.invocation is None
