"""Followers: which other process follows which topics. News of a topic goes only to its followers.

A topic is a session or a person. Each process sends all others the list of its topics, again every 30 seconds. A
process silent for `FORGET_SECONDS` is forgotten.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

FORGET_SECONDS = 90.0
"""Silence after which a process is forgotten: the time of three lists of topics (`relay.LIST_SECONDS`)."""


def session_topic(session_id: UUID) -> str:
    return f"session:{session_id}"


def person_topic(user_id: Any) -> str:
    """Return the topic of a person's list of sessions."""
    return f"person:{user_id}"


def session_of(topic: str) -> UUID | None:
    """Return the session of a topic; None for the topic of a person."""
    kind, _, name = topic.partition(":")
    return UUID(name) if kind == "session" else None


class Followers:
    """Topics followed by other processes; a process is named by the channel of its relay."""

    def __init__(self) -> None:
        self._topics: dict[str, set[str]] = {}
        self._heard_at: dict[str, float] = {}
        self._followers: defaultdict[str, set[str]] = defaultdict(set)

    def __bool__(self) -> bool:
        """Return True if another process is known."""
        return bool(self._topics)

    def of(self, topic: str) -> Collection[str]:
        return self._followers.get(topic, ())

    def add(self, process: str, topics: Iterable[str]) -> set[str]:
        """Add topics of a process; return the new topics."""
        known = self._topics.setdefault(process, set())
        self._heard_at[process] = time.monotonic()
        added = {*topics} - known
        known |= added
        for topic in added:
            self._followers[topic].add(process)
        return added

    def remove(self, process: str, topics: Iterable[str]) -> None:
        for topic in {*topics} & self._topics.get(process, set()):
            self._topics[process].discard(topic)
            self._followers[topic].discard(process)
            # Sessions are many: an entry for each session once followed would fill the memory.
            if not self._followers[topic]:
                del self._followers[topic]

    def replace(self, process: str, topics: Collection[str]) -> set[str]:
        """Replace the topics of a process; return the new topics."""
        self.remove(process, self._topics.get(process, set()) - {*topics})
        return self.add(process, topics)

    def forget(self, process: str) -> None:
        """Remove a process and its topics."""
        self.remove(process, self._topics.get(process, ()))
        self._topics.pop(process, None)
        self._heard_at.pop(process, None)

    def forget_silent(self) -> None:
        """Forget processes without news for `FORGET_SECONDS`."""
        silent_since = time.monotonic() - FORGET_SECONDS
        for process in [process for process, at in self._heard_at.items() if at < silent_since]:
            self.forget(process)
