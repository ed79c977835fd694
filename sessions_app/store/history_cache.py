"""Cache of event histories: loading a session again reads only its new events.

Events never change, so a cached history is never wrong, only short: each load compares `seq` with the session's row and
reads the missing events. Nothing has to be invalidated when another process writes.
"""

import asyncio
import sys
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from uuid import UUID

from runtime.events.calls import MadeCall, MadeCalls
from runtime.events.event import Event as RuntimeEvent
from runtime.events.rewound import drop_rewound
from runtime.events.summaries import changes_effective_events
from sessions_app.base.codec import event_from_json
from sessions_app.conf import conf

BYTES_OF_EVENT = 3_500
"""Memory of an event's objects without its texts, in bytes, measured with tracemalloc."""

SLICE_EVENTS = 100
"""Number of events to parse before other tasks run: a slice takes a few milliseconds."""
SLICE_CHARACTERS = 250_000
"""Number of characters of JSON to parse before other tasks run."""

SessionName = tuple[str, str, str]
"""App name, user id and session id of the ADK API."""


async def bodies_in_slices(pages: AsyncGenerator[list[str]]) -> AsyncIterator[Sequence[str]]:
    """Yield the stored bodies of pages in slices, and let other tasks run in between. Close `pages` at the end."""
    is_first = True
    async with aclosing(pages):
        async for page in pages:
            for bodies in _slices(page):
                # A short history, the usual case, is loaded without a turn of the event loop.
                if not is_first:
                    await asyncio.sleep(0)
                is_first = False
                yield bodies


def _slices(bodies: Sequence[str]) -> Iterator[Sequence[str]]:
    start = characters = 0
    for end, body in enumerate(bodies):
        if end - start == SLICE_EVENTS or characters > SLICE_CHARACTERS:
            yield bodies[start:end]
            start = end
            characters = 0
        characters += len(body)
    yield bodies[start:]


@dataclass
class History:
    """A contiguous tail of a session's events.

    Attributes:
        skipped: number of events before the tail; a summary covers them (contract R4).
        invocations: ids of the events' invocations.
        is_plain: True if all events are in effect: there is no rewind and no summary.
        bytes: estimated memory of the events.
    """

    session_id: UUID
    skipped: int = 0
    events: list[RuntimeEvent] = field(default_factory=list)
    invocations: set[str] = field(default_factory=set)
    is_plain: bool = True
    bytes: int = 0
    _made: MadeCalls = field(default_factory=MadeCalls, repr=False)
    _made_up_to: int = 0

    @property
    def last_seq(self) -> int:
        """Sequence number of the last event."""
        return self.skipped + len(self.events)

    def add(self, after: int, bodies: Sequence[str]) -> int:
        """Parse and append the new stored events, unless there is a gap; return their bytes.

        Args:
            after: `seq` of the event before `bodies`.
        """
        if after > self.last_seq:
            return 0
        # Two loads of a session may read the same events at the same time.
        new = bodies[self.last_seq - after :]
        events = list(map(event_from_json, new))
        self.events += events
        self.invocations.update([event.invocation_id for event in events])
        self.is_plain = self.is_plain and not any(map(changes_effective_events, events))
        added = BYTES_OF_EVENT * len(new) + sum(map(sys.getsizeof, new))
        self.bytes += added
        return added

    def effective_events(self) -> list[RuntimeEvent]:
        """Return the events without rewound events, also those that a summary has replaced."""
        return list(self.events) if self.is_plain else drop_rewound(self.events)

    def pending_calls(self) -> list[MadeCall]:
        """Return the calls in the effective events that wait for a response from outside, oldest first."""
        if not self.is_plain:
            return MadeCalls(self.effective_events()).pending()
        # Events read once are not read again: a session may ask a hundred times.
        self._made.add(self.events[self._made_up_to :])
        self._made_up_to = len(self.events)
        return self._made.pending()


class HistoryCache:
    """Least recently used cache of histories by session; the caller checks `seq` at every use.

    Loaded sessions share the cached events, which are immutable.
    """

    def __init__(self) -> None:
        self._histories: OrderedDict[SessionName, History] = OrderedDict()
        self._size = 0

    def get(self, name: SessionName) -> History | None:
        history = self._histories.get(name)
        if history is not None:
            self._histories.move_to_end(name)
        return history

    def keep(self, name: SessionName, history: History) -> None:
        self.forget(name)
        self._histories[name] = history
        self._size += history.bytes
        self._make_room(name)

    def extend(self, name: SessionName, session_id: UUID, after: int, bodies: Sequence[str]) -> None:
        """Append new stored events to the cached history of a session, as `History.add` does.

        A summary among the events drops the history.
        """
        history = self.get(name)
        if history is None:
            return
        # A deleted session and a new one may have the same name.
        if history.session_id != session_id:
            self.forget(name)
            return
        known = len(history.events)
        self._size += history.add(after, bodies)
        # After a summary few of the events are in effect; the next load reads these few.
        if any(event.actions.compaction for event in history.events[known:]):
            self.forget(name)
        self._make_room(name)

    def forget(self, name: SessionName) -> None:
        """Drop the history of a session."""
        history = self._histories.pop(name, None)
        if history is not None:
            self._size -= history.bytes

    def _make_room(self, name: SessionName) -> None:
        """Drop the least recently used histories, or that of `name` alone if it is larger than the whole cache."""
        history = self._histories.get(name)
        if history is not None and history.bytes > conf().cached_bytes:
            self.forget(name)
        while self._size > conf().cached_bytes and self._histories:
            self.forget(next(iter(self._histories)))


cache = HistoryCache()
