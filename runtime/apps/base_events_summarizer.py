"""Contract of a summarizer of events (contract R4)."""

from abc import ABC, abstractmethod

from runtime.events.event import Event


class BaseEventsSummarizer(ABC):
    """Summarizes consecutive events of a session."""

    @abstractmethod
    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Return an event with the summary in `actions.compaction`, or None to keep the events.

        The first of `events` holds an earlier summary, if there is one, with author `model`. The caller sets the range
        of events that the new summary replaces.
        """
