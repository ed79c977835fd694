"""Cache of built contents: earlier invocations of a session are converted once per agent (contract A7)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from runtime import types
from runtime.engine.referenced_artifacts import positions_of_files
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
        last: the event at the end of the prefix. When it is gone, the prefix's session is gone too.
        with_files: positions of the contents with file parts.
        calls: ids of the function calls that the agent sees in the prefix.
        size: estimated size in bytes.
    """

    count: int = 0
    last: ref[Event] | None = None
    contents: list[types.Content] = field(default_factory=list)
    with_files: list[int] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    size: int = _BYTES_OF_OBJECTS

    def fits(self, events: Sequence[Event], start: int) -> bool:
        """True when `events` begin with this prefix and it ends at or before position `start`."""
        if self.last is None:
            return True
        return self.count <= start and events[self.count - 1] is self.last()

    def is_changed_by(self, tail: Sequence[Event]) -> bool:
        """True when a later event changes the prefix's contents: a late response, a rewind or a summary."""
        if self.count == 0:
            return False
        return may_answer_calls_before(tail, self.calls) or any(map(changes_effective_events, tail))

    def add(self, contents: list[types.Content]) -> None:
        """Append contents; `cover` then appends their events."""
        self.with_files += positions_of_files(contents, len(self.contents))
        self.contents += contents
        self.size += sum(map(_size_of, contents))

    def cover(self, events: Sequence[Event], made: Iterable[MadeCall]) -> None:
        """Append the events of the contents that were added, with the calls that the agent sees in them."""
        self.count += len(events)
        self.last = ref(events[-1])
        self.calls.update(call.call.id for call in made if call.call.id)

    def clear(self) -> None:
        """Make the prefix empty."""
        self.count = 0
        self.last = None
        self.contents = []
        self.with_files = []
        self.calls = set()
        self.size = _BYTES_OF_OBJECTS


class ContentsCache:
    """Cached prefixes of this process.

    The least recently used prefixes are evicted first. A prefix is dropped when its last event is no longer in memory,
    as it fits only a session with the same event objects.
    """

    def __init__(self) -> None:
        self._prefixes: OrderedDict[CacheKey, ContentsPrefix] = OrderedDict()
        self._size = 0

    def take(self, key: CacheKey) -> ContentsPrefix:
        """Remove and return the cached prefix, or return an empty prefix. `put` it back after changing it."""
        prefix = self._prefixes.pop(key, None)
        if prefix is None:
            return ContentsPrefix()
        self._size -= prefix.size
        return prefix

    def put(self, key: CacheKey, prefix: ContentsPrefix) -> None:
        """Cache the prefix, unless it is empty, as in the first invocation of a session."""
        last = prefix.last() if prefix.last else None
        if last is None:
            return
        prefix.last = ref(last, lambda gone: self._drop(key, gone))
        self._prefixes[key] = prefix
        self._size += prefix.size
        while self._size > MAX_CACHED_BYTES and len(self._prefixes) > 1:
            self._size -= self._prefixes.popitem(last=False)[1].size

    def _drop(self, key: CacheKey, gone: ref[Event]) -> None:
        prefix = self._prefixes.get(key)
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
