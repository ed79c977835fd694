"""Histories that this process has just served, so that only what is new is read (design.md)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from uuid import UUID

from runtime.events.event import Event
from sessions_app.conf import conf

SessionName = tuple[str, str, str]


@dataclass
class History:
    """The events of a session from one on, without gaps.

    Attributes:
        skipped: how many events of the log come before: a summary stands for them (spec R4).
        invocations: the ids of the events' invocations.
        is_plain_json: whether all of the events count: there is no rewind and no summary among them.
    """

    session_id: UUID
    skipped: int = 0
    events: list[Event] = field(default_factory=list)
    invocations: set[str] = field(default_factory=set)
    is_plain_json: bool = True

    @property
    def last_seq(self) -> int:
        """How far it reaches."""
        return self.skipped + len(self.events)

    def add(self, after: int, events: list[Event]) -> int:
        """Take in the events that follow `after`, unless there is a gap; returns how many were new."""
        new = events[self.last_seq - after :] if after <= self.last_seq else []
        self.events += new
        self.invocations.update(event.invocation_id for event in new)
        self.is_plain_json = self.is_plain_json and not any(_changes_what_counts(event) for event in new)
        return len(new)


class HistoryCache:
    """Histories by session, the longest unused forgotten first; checked against `seq` at every use.

    The events are shared with the sessions that are handed out: they are immutable records.
    """

    def __init__(self) -> None:
        self._histories: OrderedDict[SessionName, History] = OrderedDict()
        self._size = 0

    def get(self, name: SessionName) -> History | None:
        """What is known of a session."""
        history = self._histories.get(name)
        if history is not None:
            self._histories.move_to_end(name)
        return history

    def keep(self, name: SessionName, history: History) -> None:
        """Know this of a session from now on."""
        self.forget(name)
        self._histories[name] = history
        self._size += len(history.events)
        self._forget_longest_unused()

    def extend(self, name: SessionName, session_id: UUID, after: int, events: list[Event]) -> None:
        """Take in what follows `after`. After a summary little of what was known still counts: it is read anew."""
        history = self.get(name)
        if history is None:
            return
        if history.session_id != session_id or any(event.actions.compaction for event in events):
            self.forget(name)
            return
        self._size += history.add(after, events)
        self._forget_longest_unused()

    def forget(self, name: SessionName) -> None:
        """Drop a session."""
        history = self._histories.pop(name, None)
        self._size -= len(history.events) if history else 0

    def _forget_longest_unused(self) -> None:
        while self._size > conf().cached_events and len(self._histories) > 1:
            self.forget(next(iter(self._histories)))


def _changes_what_counts(event: Event) -> bool:
    return event.actions.rewind_before_invocation_id is not None or event.actions.compaction is not None


cache = HistoryCache()
