"""Cache of built contents: each agent converts the earlier invocations of a session once (contract A7).

A cached prefix fits only a session that holds the very same event objects, which services share between loads of a
session. So the prefix keeps a weak reference to its last event, and leaves the cache when this event is freed: the
cache never keeps a session in memory, and needs no expiry.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from runtime import types
from runtime.artifacts.referenced_artifacts import positions_of_files
from runtime.events.calls import MadeCall, may_answer_calls_before
from runtime.events.event import Event
from runtime.events.summaries import changes_effective_events

MAX_CACHED_BYTES = 32_000_000
"""Limit of the estimated size of the cached contents in this process, all sessions together."""

_BYTES_OF_OBJECTS = 500
"""Estimated size of a prefix, a content or a part without its texts, arguments and files."""

CacheKey = tuple[str, str, str, str, str | None]
"""App name, user id, session id, agent name, branch."""


@dataclass
class ContentsPrefix:
    """Contents of the first `count` events of a session, as one agent on one branch sees them.

    Attributes:
        last: weak reference to the last event of the prefix; None for an empty prefix.
        with_files: positions of the contents with file parts.
        calls: ids of the function calls visible in the prefix.
        size: estimated size in bytes.
    """

    count: int = 0
    last: ref[Event] | None = None
    contents: list[types.Content] = field(default_factory=list)
    with_files: list[int] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    size: int = _BYTES_OF_OBJECTS

    def fits(self, events: Sequence[Event], start: int) -> bool:
        """Return True if `events` begin with this prefix and the prefix ends at or before position `start`."""
        if self.last is None:
            return True
        # Comparing the last event is enough: the log is append-only, so equal ends mean equal beginnings.
        return self.count <= start and events[self.count - 1] is self.last()

    def is_changed_by(self, tail: Sequence[Event]) -> bool:
        """Return True if a later event changes the prefix's contents: a late response, a rewind or a summary."""
        if self.count == 0:
            return False
        return may_answer_calls_before(tail, self.calls) or any(map(changes_effective_events, tail))

    def add(self, contents: list[types.Content]) -> None:
        """Append contents. Call `cover` after the last contents, with the events of all of them."""
        self.with_files += positions_of_files(contents, len(self.contents))
        self.contents += contents
        self.size += sum(map(_size_of, contents))

    def cover(self, events: Sequence[Event], made: Iterable[MadeCall]) -> None:
        """Append the events of the added contents, and the calls visible in these events."""
        self.count += len(events)
        self.last = ref(events[-1])
        self.calls.update(call.call.id for call in made if call.call.id)

    def clear(self) -> None:
        self.count = 0
        self.last = None
        self.contents = []
        self.with_files = []
        self.calls = set()
        self.size = _BYTES_OF_OBJECTS


class ContentsCache:
    """Cached prefixes of this process; the least recently used prefixes are evicted first."""

    def __init__(self) -> None:
        self._prefixes: OrderedDict[CacheKey, ContentsPrefix] = OrderedDict()
        self._size = 0

    def take(self, key: CacheKey) -> ContentsPrefix:
        """Remove and return the cached prefix, or return an empty prefix. Return the prefix by `put`."""
        prefix = self._prefixes.pop(key, None)
        if prefix is None:
            return ContentsPrefix()
        self._size -= prefix.size
        return prefix

    def put(self, key: CacheKey, prefix: ContentsPrefix) -> None:
        """Cache the prefix unless it is empty, as in the first invocation of a session."""
        last = prefix.last() if prefix.last else None
        if last is None:
            return
        prefix.last = ref(last, lambda gone: self._drop(key, gone))
        self._prefixes[key] = prefix
        self._size += prefix.size
        # The prefix just used stays, even if it alone exceeds the limit.
        while self._size > MAX_CACHED_BYTES and len(self._prefixes) > 1:
            self._size -= self._prefixes.popitem(last=False)[1].size

    def _drop(self, key: CacheKey, gone: ref[Event]) -> None:
        prefix = self._prefixes.get(key)
        # A newer prefix may have taken the key since the reference was made.
        if prefix is not None and prefix.last is gone:
            self.take(key)


def _size_of(content: types.Content) -> int:
    size = _BYTES_OF_OBJECTS
    for part in content.parts or ():
        size += _BYTES_OF_OBJECTS + _length_of(part.text) + _length_of(part.thought_signature)
        if part.inline_data:
            size += _length_of(part.inline_data.data)
        if part.function_call:
            size += _length_of(part.function_call.args)
        if part.function_response:
            size += _length_of(part.function_response.response)
    return size


def _length_of(value: Any) -> int:
    """Return the length of all texts and bytes in a JSON value."""
    if value is None:
        return 0
    if isinstance(value, str | bytes):
        return len(value)
    length = 0
    # A stack in place of recursion: the arguments of a call may be nested deeply.
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str | bytes):
            length += len(value)
        elif isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list):
            left += value
    return length
