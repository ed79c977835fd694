"""Cache of built contents, so that earlier invocations of a session are converted once per agent (contract A7)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from runtime import types
from runtime.events.calls import call_ids, may_answer_calls_before
from runtime.events.event import Event

MAX_CACHED_CONTENTS = 100_000
"""Limit of cached contents in this process, all sessions together."""

CacheKey = tuple[str, str, str, str, str | None]
"""App name, user id, session id, agent name, branch."""


@dataclass
class CachedPrefix:
    """Contents of the first `count` events of a session, as one agent on one branch sees them.

    Attributes:
        last: The event at the end of the prefix.
        calls: Ids of the function calls in the prefix.
    """

    count: int = 0
    last: Event | None = None
    contents: list[types.Content] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)

    def fits(self, events: Sequence[Event], start: int) -> bool:
        """True when `events` begin with this prefix and it ends at or before position `start`."""
        return self.count == 0 or (self.count <= start and events[self.count - 1] is self.last)

    def is_changed_by(self, tail: Sequence[Event]) -> bool:
        """True when a later event changes the prefix's contents: a late response, a rewind or a summary."""
        if self.count == 0:
            return False
        return may_answer_calls_before(tail, self.calls) or any(
            event.actions.rewind_before_invocation_id or event.actions.compaction for event in tail
        )

    def extend(self, events: Sequence[Event], contents: list[types.Content]) -> None:
        """Append the following events and their contents."""
        if not events:
            return
        self.count += len(events)
        self.last = events[-1]
        # A new list: requests that are being sent hold the old one.
        self.contents = self.contents + contents
        for event in events:
            self.calls |= call_ids(event)

    @property
    def weight(self) -> int:
        """Share of `MAX_CACHED_CONTENTS`; at least one, so that prefixes without contents are bounded too."""
        return max(1, len(self.contents))

    def clear(self) -> None:
        """Make the prefix empty."""
        self.count, self.last, self.contents, self.calls = 0, None, [], set()


class ContentsCache:
    """Cached prefixes of this process; the least recently used ones are evicted first."""

    def __init__(self) -> None:
        self._prefixes: OrderedDict[CacheKey, CachedPrefix] = OrderedDict()
        self._size = 0

    def take(self, key: CacheKey) -> CachedPrefix:
        """Remove and return the cached prefix, or return an empty one. `put` it back after changing it."""
        prefix = self._prefixes.pop(key, None)
        if prefix is None:
            return CachedPrefix()
        self._size -= prefix.weight
        return prefix

    def put(self, key: CacheKey, prefix: CachedPrefix) -> None:
        """Cache the prefix. An empty one, as in the first invocation of a session, is not cached."""
        if prefix.count == 0:
            return
        self._prefixes[key] = prefix
        self._size += prefix.weight
        while self._size > MAX_CACHED_CONTENTS and len(self._prefixes) > 1:
            self._size -= self._prefixes.popitem(last=False)[1].weight
