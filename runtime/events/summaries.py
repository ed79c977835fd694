"""Summaries in a list of events: pure functions (contract R4).

A summary names the first and the last replaced event by timestamp, as in google-adk. It replaces all events
between these two in the order of the log. Timestamps in between do not matter, because the clocks of processes differ.

A *full* summary replaces all effective events up to its last event. It carries a note with the facts that later code
would look up in the replaced events, so a session can be loaded from its latest full summary on.
"""

from collections.abc import Sequence
from typing import NamedTuple, NotRequired, TypedDict

from runtime import types
from runtime.events.allowances import ToolOfAgent, find_allowances
from runtime.events.calls import made_calls
from runtime.events.event import Event
from runtime.events.rewound import drop_rewound

SUMMARY_NOTE_KEY = "adk_compaction"
"""Key in `custom_metadata` of a full summary: its `SummaryNote`."""


class SummaryNote(TypedDict):
    """Facts about the replaced events of a full summary.

    Attributes:
        last_agent: the name of the agent to answer next.
        overlap_from: the timestamp of the first event to cover again in the next summary.
        allowances: the allowances after the last replaced event, as (agent, tool, time).
    """

    last_agent: str
    overlap_from: float
    allowances: NotRequired[list[tuple[str, str, float]]]


class EventRange(NamedTuple):
    """Positions of the events replaced by a summary, both ends inclusive."""

    first: int
    last: int

    def encloses(self, other: "EventRange") -> bool:
        """Return True if the other range lies within this range."""
        return self.first <= other.first and other.last <= self.last


def changes_effective_events(event: Event) -> bool:
    """Return True for a rewind or a summary. In a log without either, all events are effective."""
    return event.actions.rewind_before_invocation_id is not None or event.actions.compaction is not None


def summary_note(event: Event) -> SummaryNote | None:
    """Return the note of a full summary; None for all other events."""
    if event.actions.compaction is None or not event.custom_metadata:
        return None
    return event.custom_metadata.get(SUMMARY_NOTE_KEY)


def latest_full_summary(events: Sequence[Event]) -> int | None:
    """Return the position of the latest full summary, or None."""
    for index in range(len(events) - 1, -1, -1):
        if events[index].actions.compaction and summary_note(events[index]):
            return index
    return None


def summarized_range(events: Sequence[Event], summary: int) -> EventRange | None:
    """Return the range of the summary at this position; None if no event of the range is present."""
    compaction = events[summary].actions.compaction
    if compaction is None:
        return None
    firsts: list[int] = []
    lasts: list[int] = []
    for index in range(summary):
        event = events[index]
        if event.actions.compaction:
            continue
        if event.timestamp >= compaction.start_timestamp:
            firsts.append(index)
        if event.timestamp <= compaction.end_timestamp:
            lasts.append(index)
    # An event with the exact timestamp wins: clocks differ, so a later event may have an earlier timestamp.
    exact_firsts = [index for index in firsts if events[index].timestamp == compaction.start_timestamp]
    exact_lasts = [index for index in lasts if events[index].timestamp == compaction.end_timestamp]
    first = min(exact_firsts or firsts, default=summary)
    last = max(exact_lasts or lasts, default=-1)
    if first > last:
        return None
    return EventRange(first, last)


def apply_summaries(events: list[Event]) -> list[Event]:
    """Return the events with each summary in place of its range. `events` must not contain rewound events.

    A call within the range that is answered later follows the summary.
    """
    ranges = _ranges_by_summary(events)
    if not ranges:
        return events
    replaced: set[int] = set()
    summary_at: dict[int, int] = {}
    for index, span in ranges.items():
        if span is None:
            # Its events are not loaded: the summary is shown where it is stored.
            summary_at[index] = index
        else:
            summary_at[span.last] = index
            replaced.update(range(span.first, span.last + 1))
    answered_later = _answered_later(events, replaced)
    kept: list[Event] = []
    calls: list[Event] = []
    for index, event in enumerate(events):
        if index in answered_later:
            calls.append(event)
        if index in summary_at:
            kept.append(_with_summary_content(events[summary_at[index]]))
            kept += calls
            calls = []
        elif index not in replaced and not event.actions.compaction:
            kept.append(event)
    return kept


def without_superseded(events: Sequence[Event]) -> list[Event]:
    """Return the effective events, without the events replaced by the latest full summary."""
    kept = drop_rewound(events)
    index = latest_full_summary(kept)
    if index is None:
        return kept
    span = summarized_range(kept, index)
    if span is None:
        return kept
    # The last replaced event stays: it marks the place of the summary in the log.
    rest = kept[span.last :]
    return [event for event in rest if event is kept[index] or not event.actions.compaction]


def session_allowances(events: Sequence[Event]) -> dict[ToolOfAgent, float]:
    """Return the allowances of a session, including the allowances before its latest full summary."""
    kept = drop_rewound(events)
    note = _latest_note(kept)
    earlier: dict[ToolOfAgent, float] = {}
    if note is not None:
        for agent, tool, given_at in note.get("allowances", []):
            earlier[ToolOfAgent(agent=agent, tool=tool)] = given_at
    return find_allowances(kept, earlier)


def last_agent_before_summary(events: Sequence[Event]) -> str | None:
    """Return the agent to answer after the range of the latest full summary, or None."""
    note = _latest_note(events)
    if note is None:
        return None
    return note["last_agent"]


def _latest_note(events: Sequence[Event]) -> SummaryNote | None:
    index = latest_full_summary(events)
    if index is None:
        return None
    return summary_note(events[index])


def _ranges_by_summary(events: list[Event]) -> dict[int, EventRange | None]:
    """Return the range of each summary by its position, without summaries whose range lies within another range."""
    ranges: dict[int, EventRange | None] = {}
    for index, event in enumerate(events):
        if event.actions.compaction:
            ranges[index] = summarized_range(events, index)
    for index, span in list(ranges.items()):
        for other_index, other in ranges.items():
            # Of two summaries with equal ranges the later one stays.
            wins = other != span or other_index > index
            if span and other and wins and other.encloses(span):
                del ranges[index]
                break
    return ranges


def _answered_later(events: Sequence[Event], replaced: set[int]) -> set[int]:
    """Return the positions of replaced events with calls that an event outside of the ranges answers."""
    position_of = {id(event): index for index, event in enumerate(events)}
    found = set()
    for made in made_calls(events):
        position = position_of[id(made.event)]
        answers = [position_of[id(answer.event)] for answer in made.answers]
        if position in replaced and not replaced.issuperset(answers):
            found.add(position)
    return found


def _with_summary_content(summary: Event) -> Event:
    content: types.Content | None = None
    if summary.actions.compaction:
        content = summary.actions.compaction.compacted_content
    return summary.model_copy(update={"content": content})
