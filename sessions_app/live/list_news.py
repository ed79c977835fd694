"""ListNews: reports changes of a person's list of sessions to the person's open tabs."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Protocol
from uuid import UUID

from sessions_app.base.statuses import JobStatus
from sessions_app.live.notices import InvocationNotice, JobNotice, Notice
from sessions_app.store.sql.event_log import owners

logger = logging.getLogger(__name__)
WINDOW_SECONDS = 0.5
"""Time for which changed sessions are gathered, to find the owners of all with a single query."""

Tell = Callable[[], None]


class ListOutbox(Protocol):
    """Messages to other processes."""

    def send_list_change(self, user_id: str) -> None:
        """Report that a person's list of sessions has changed."""

    def follow_list(self, user_id: str) -> None:
        """Ask for the changes of a person's list from now on."""

    def unfollow_list(self, user_id: str) -> None:
        """Ask for no more changes of a person's list."""

    def follows_lists(self) -> bool:
        """Return True when another process follows a list, or may follow a list."""


class ListNews:
    """Watchers of lists, by person. A notice of a session may change the list of the session's owner."""

    def __init__(self, outbox: ListOutbox) -> None:
        self._outbox = outbox
        self._watchers: defaultdict[str, set[Tell]] = defaultdict(set)
        self._changed: set[UUID] = set()
        self._gathering: asyncio.Task[None] | None = None

    def watch(self, user_id: Any, tell: Tell) -> None:
        """Call `tell` after each change of the person's list."""
        if str(user_id) not in self._watchers:
            self._outbox.follow_list(str(user_id))
        self._watchers[str(user_id)].add(tell)

    def unwatch(self, user_id: Any, tell: Tell) -> None:
        """Stop calling `tell`."""
        watchers = self._watchers.get(str(user_id))
        if watchers is None:
            return
        watchers.discard(tell)
        if not watchers:
            del self._watchers[str(user_id)]
            self._outbox.unfollow_list(str(user_id))

    def publish(self, user_id: Any) -> None:
        """Tell the person's tabs in all processes."""
        self.receive(str(user_id))
        self._outbox.send_list_change(str(user_id))

    def receive(self, user_id: str) -> None:
        """Tell the person's tabs in this process."""
        for tell in tuple(self._watchers.get(user_id, ())):
            tell()

    def on_notice(self, session_id: UUID, notice: Notice) -> None:
        """Report to the owner of the session soon, if the notice changes the list."""
        if not _changes_list(notice) or not (self._watchers or self._outbox.follows_lists()):
            return
        self._changed.add(session_id)
        if self._gathering is None or self._gathering.done():
            self._gathering = asyncio.create_task(self._tell_owners(), name="live: lists of sessions")

    async def stop(self) -> None:
        """Stop reporting changes."""
        if self._gathering is not None:
            self._gathering.cancel()
            await asyncio.wait([self._gathering])

    async def _tell_owners(self) -> None:
        while self._changed:
            await asyncio.sleep(WINDOW_SECONDS)
            changed = self._changed
            self._changed = set()
            try:
                for user_id in await owners(changed):
                    self.publish(user_id)
            except Exception:  # PostgreSQL may be away. The next change or page corrects the list.
                logger.warning("People could not be told that their lists have changed", exc_info=True)


def _changes_list(notice: Notice) -> bool:
    # A running job sends many notices, of its progress, which the list does not show.
    if isinstance(notice, JobNotice):
        return notice.status != JobStatus.RUNNING
    return isinstance(notice, InvocationNotice)
