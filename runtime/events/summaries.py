"""Summaries in a list of events: pure functions (contract R4).

A summary names its first and its last event by timestamp. It replaces the events between these two in the order of
the log. The timestamps of the events in between do not matter, because clocks may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from runtime.events.allowances import ToolOfAgent, find_allowances
from runtime.events.event import Event
from runtime.events.rewound import drop_rewound

SUMMARY_NOTE_KEY = "adk_compaction"
"""Key in `custom_metadata` of a full summary: a summary that replaces all effective events up to its last one."""


class SummaryNote(TypedDict):
    """Facts about the replaced events, stored under `SUMMARY_NOTE_KEY` of a full summary.

    Attributes:
        last_agent: the name of the agent that would have answered next.
        overlap_from: the timestamp of the first event that the next summary covers again.
        allowances: the allowances after the last replaced event, as (agent, tool, time).
    """

    last_agent: str
    overlap_from: float
    allowances: NotRequired[list[tuple[str, str, float]]]


@dataclass(frozen=True)
class EventRange:
    """Positions of the events that a summary replaces, both ends inclusive."""

    first: int
    last: int

    def contains(self, other: EventRange) -> bool:
        """True when the other range lies within this one."""
        return self.first <= other.first and other.last <= self.last


def changes_effective_events(event: Event) -> bool:
    """True for a rewind or a summary: without one, all events are in effect."""
    return event.actions.rewind_before_invocation_id is not None or event.actions.compaction is not None


def summary_note(event: Event) -> SummaryNote | None:
    """Return the note of a full summary; None for all other events."""
    if event.actions.compaction is None or not event.custom_metadata:
        return None
    return event.custom_metadata.get(SUMMARY_NOTE_KEY)


def latest_full_summary(events: Sequence[Event]) -> int | None:
    """Return the position of the latest full summary, or None."""
    latest_first = range(len(events) - 1, -1, -1)
    return next((i for i in latest_first if events[i].actions.compaction and summary_note(events[i])), None)


def summarized_range(events: Sequence[Event], summary: int) -> EventRange | None:
    """Return the range that the summary at this position replaces; None when none of its events is present."""
    compaction = events[summary].actions.compaction
    if compaction is None:
        return None
    times = [(i, events[i].timestamp) for i in range(summary) if not events[i].actions.compaction]
    end = compaction.end_timestamp
    start = compaction.start_timestamp
    last = max((i for i, time in times if time == end), default=None)
    if last is None:
        last = max((i for i, time in times if time <= end), default=-1)
    first = next((i for i, time in times if time == start), None)
    if first is None:
        first = next((i for i, time in times if time >= start), summary)
    return EventRange(first, last) if first <= last else None


def apply_summaries(events: list[Event]) -> list[Event]:
    """Return the events with each summary in place of its range; `events` must be free of rewound ones."""
    ranges = _ranges_by_summary(events)
    if not ranges:
        return events
    replaced = {i for span in ranges.values() if span for i in range(span.first, span.last + 1)}
    summary_at = {(span.last if span else index): index for index, span in ranges.items()}
    kept: list[Event] = []
    for index, event in enumerate(events):
        if index in summary_at:
            kept.append(_with_summary_content(events[summary_at[index]]))
        elif index not in replaced and not event.actions.compaction:
            kept.append(event)
    return kept


def without_superseded(events: Sequence[Event]) -> list[Event]:
    """Return the effective events: without rewound ones and without those that the latest full summary replaces.

    The last replaced event stays, because it marks the place of the summary in the log.
    """
    kept = drop_rewound(events)
    index = latest_full_summary(kept)
    span = summarized_range(kept, index) if index is not None else None
    if index is None or span is None:
        return kept
    rest = kept[span.last :]
    return [event for event in rest if event is kept[index] or not event.actions.compaction]


def session_allowances(events: Sequence[Event]) -> dict[ToolOfAgent, float]:
    """Return the allowances of a session, those before its latest full summary included."""
    kept = drop_rewound(events)
    index = latest_full_summary(kept)
    note = summary_note(kept[index]) if index is not None else None
    noted = note.get("allowances", []) if note else []
    return find_allowances(kept, {ToolOfAgent(agent=agent, tool=tool): at for agent, tool, at in noted})


def last_agent_before_summary(events: Sequence[Event]) -> str | None:
    """Return the agent that would have answered after the range of the latest full summary; None without one."""
    index = latest_full_summary(events)
    note = summary_note(events[index]) if index is not None else None
    return note["last_agent"] if note else None


def _ranges_by_summary(events: list[Event]) -> dict[int, EventRange | None]:
    """Return the range of each summary by its position, without summaries whose range lies within another one.

    Of two summaries with equal ranges the later one stays.
    """
    ranges = {i: summarized_range(events, i) for i, event in enumerate(events) if event.actions.compaction}
    return {
        index: span
        for index, span in ranges.items()
        if not any(
            other is not None
            and span is not None
            and other.contains(span)
            and (other != span or other_index > index)
            for other_index, other in ranges.items()
        )
    }


def _with_summary_content(summary: Event) -> Event:
    compaction = summary.actions.compaction
    return summary.model_copy(update={"content": compaction.compacted_content if compaction else None})
