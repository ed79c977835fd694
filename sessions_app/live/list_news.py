"""ListNews: reports changes of a person's list of sessions, and of the activity in them, to the open tabs."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from sessions_app.base.statuses import JobStatus
from sessions_app.live.notices import CallNotice, JobNotice, Notice, ScheduleNotice
from sessions_app.store.sql.event_log import owners

logger = logging.getLogger(__name__)
WINDOW_SECONDS = 0.5
"""Time for which changed sessions are gathered, to find the owners of all with a single query."""
ACTIVITY_SECONDS = 1.0
"""Minimum time between two changes of the activity in the tabs of a person: jobs send their progress often."""


class ListChange(StrEnum):
    """A change that the pages of a person show; also the type of its frames and of its news to other processes."""

    SESSIONS = "sessions"
    """The list of sessions has changed, and with it the activity."""
    ACTIVITY = "activity"
    """A job has made progress, or a scheduled task has changed. The list shows neither."""


Tell = Callable[[ListChange], None]


class ListRelay(Protocol):
    """Sender of the news of a person's list to other processes; implemented by `Relay`."""

    def send_list_change(self, user_id: str, change: ListChange) -> None:
        """Report a change of a person's list of sessions, or of the activity."""

    def follow_list(self, user_id: str) -> None:
        """Ask for the changes of a person's list from now on."""

    def unfollow_list(self, user_id: str) -> None:
        """Ask for no more changes of a person's list."""

    def follows_lists(self) -> bool:
        """Return True if another process follows a list, or may follow a list."""


class ListNews:
    """Watchers of lists, by person. A notice of a session may change the list of the session's owner."""

    def __init__(self, relay: ListRelay) -> None:
        self._relay = relay
        self._watchers: defaultdict[str, set[Tell]] = defaultdict(set)
        self._changed: defaultdict[ListChange, set[UUID]] = defaultdict(set)
        self._active: set[str] = set()
        self._gathering: asyncio.Task[None] | None = None

    def watch(self, user_id: Any, tell: Tell) -> None:
        """Call `tell` after each change of the person's list, and at intervals while the activity changes."""
        if str(user_id) not in self._watchers:
            self._relay.follow_list(str(user_id))
        self._watchers[str(user_id)].add(tell)

    def unwatch(self, user_id: Any, tell: Tell) -> None:
        """Stop calling `tell`."""
        watchers = self._watchers.get(str(user_id))
        if watchers is None:
            return
        watchers.discard(tell)
        if not watchers:
            del self._watchers[str(user_id)]
            self._relay.unfollow_list(str(user_id))

    def publish(self, user_id: Any, change: ListChange = ListChange.SESSIONS) -> None:
        """Tell the person's tabs in all processes."""
        self.receive(str(user_id), change)
        self._relay.send_list_change(str(user_id), change)

    def receive(self, user_id: str, change: ListChange) -> None:
        """Tell the person's tabs in this process; of activity at most once in `ACTIVITY_SECONDS`."""
        if change is ListChange.SESSIONS:
            self._tell(user_id, change)
        elif user_id in self._watchers and user_id not in self._active:
            self._active.add(user_id)
            asyncio.get_running_loop().call_later(ACTIVITY_SECONDS, self._tell_of_activity, user_id)

    def _tell_of_activity(self, user_id: str) -> None:
        self._active.discard(user_id)
        self._tell(user_id, ListChange.ACTIVITY)

    def _tell(self, user_id: str, change: ListChange) -> None:
        for tell in tuple(self._watchers.get(user_id, ())):
            tell(change)

    def on_notice(self, session_id: UUID, notice: Notice) -> None:
        """Report to the owner of the session soon, if the notice changes the list or the activity."""
        # The activity does not show single calls.
        if isinstance(notice, CallNotice) or not (self._watchers or self._relay.follows_lists()):
            return
        self._changed[_change_of(notice)].add(session_id)
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
            self._changed = defaultdict(set)
            try:
                for change, session_ids in changed.items():
                    for user_id in await owners(session_ids):
                        self.publish(user_id, change)
            except Exception:  # PostgreSQL may be away. The next change or page corrects the list.
                logger.warning("People could not be told that their lists have changed", exc_info=True)


def _change_of(notice: Notice) -> ListChange:
    # A running job sends many notices, of its progress.
    is_progress = isinstance(notice, JobNotice) and notice.status == JobStatus.RUNNING
    if isinstance(notice, ScheduleNotice) or is_progress:
        return ListChange.ACTIVITY
    return ListChange.SESSIONS
