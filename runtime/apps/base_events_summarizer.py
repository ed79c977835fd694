"""The contract of what sums up events (spec R4)."""

from __future__ import annotations

from abc import ABC, abstractmethod

from runtime.events.event import Event


class BaseEventsSummarizer(ABC):
    """Puts a stretch of a conversation into few words."""

    @abstractmethod
    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """One event whose `actions.compaction` holds the summary, or None to leave the events as they are.

        The first of `events` is the summary so far, as words of `model`, when there is one. Which events the new
        summary stands for is not the summarizer's to decide: the caller sets it.
        """
