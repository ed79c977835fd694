"""Contract of a summarizer of events (contract R4)."""

from __future__ import annotations

from abc import ABC, abstractmethod

from runtime.events.event import Event


class BaseEventsSummarizer(ABC):
    """Summarizes consecutive events of a session."""

    @abstractmethod
    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Return an event whose `actions.compaction` holds the summary, or None to keep the events as they are.

        When there is an earlier summary, the first of `events` holds it, with author `model`. The caller sets the
        range of events that the new summary replaces.
        """
