"""Histories that this process has just served, so that only what is new is read (design.md)."""

from __future__ import annotations

from collections import OrderedDict
from uuid import UUID

from runtime.events.event import Event
from sessions_app.conf import conf

SessionName = tuple[str, str, str]


class HistoryCache:
    """Events by session, the longest unused forgotten first; checked against `seq` at every use.

    The events are shared with the sessions that are handed out: they are immutable records.
    """

    def __init__(self) -> None:
        self._histories: OrderedDict[SessionName, list[Event]] = OrderedDict()
        self._ids: dict[SessionName, UUID] = {}
        self._size = 0

    def events(self, name: SessionName) -> list[Event]:
        """The events known so far: those with seq 1 to their number."""
        history = self._histories.get(name)
        if history is None:
            return []
        self._histories.move_to_end(name)
        return history

    def extend(self, name: SessionName, session_id: UUID, after: int, events: list[Event]) -> list[Event]:
        """Take in the events that follow `after`; a history that does not reach there stays as it is."""
        if self._ids.get(name) != session_id:
            self.forget(name)
        history = self._histories.setdefault(name, [])
        self._ids[name] = session_id
        if len(history) >= after:
            new = events[len(history) - after :]
            history.extend(new)
            self._size += len(new)
        self._histories.move_to_end(name)
        self._forget_longest_unused()
        return history

    def forget(self, name: SessionName) -> None:
        """Drop a session."""
        self._size -= len(self._histories.pop(name, []))
        self._ids.pop(name, None)

    def _forget_longest_unused(self) -> None:
        while self._size > conf().cached_events and len(self._histories) > 1:
            self.forget(next(iter(self._histories)))


cache = HistoryCache()
