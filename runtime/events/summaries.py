"""What summaries stand for in a history: pure questions over events (spec R4).

A summary names the first and the last event that it stands for by their timestamps. It stands for the stretch between
the two in the order of the log, whatever the clocks said in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from runtime.events.event import Event
from runtime.events.rewound import drop_rewound

WHOLE = "adk_compaction"
"""The key in `custom_metadata` by which a summary is known to stand for all that counted before its last event."""


class Noted(TypedDict):
    """What is kept there of the events that the summary stands for.

    Attributes:
        last_agent: the name of the agent that would have answered next.
        overlap_from: the timestamp of the first event that the next summary stands for once more.
    """

    last_agent: str
    overlap_from: float


@dataclass(frozen=True)
class Stretch:
    """The events that a summary stands for: positions, both ends included."""

    first: int
    last: int

    def holds(self, other: Stretch) -> bool:
        """Whether nothing of the other is outside."""
        return self.first <= other.first and other.last <= self.last


def noted_on(event: Event) -> Noted | None:
    """What is noted on a summary that stands for all that counted before its last event; None for other events."""
    if event.actions.compaction is None or not event.custom_metadata:
        return None
    return event.custom_metadata.get(WHOLE)


def latest_whole(events: Sequence[Event]) -> int | None:
    """The position of the latest summary that stands for all that counted before its last event."""
    return next((i for i in range(len(events) - 1, -1, -1) if noted_on(events[i])), None)


def stretch_of(events: Sequence[Event], summary: int) -> Stretch | None:
    """What the summary at this position stands for; None when nothing of it is among the events."""
    compaction = events[summary].actions.compaction
    if compaction is None:
        return None
    times = [(i, events[i].timestamp) for i in range(summary) if not events[i].actions.compaction]
    end, start = compaction.end_timestamp, compaction.start_timestamp
    last = max((i for i, at in times if at == end), default=None)
    if last is None:
        last = max((i for i, at in times if at <= end), default=-1)
    first = next((i for i, at in times if at == start), None)
    if first is None:
        first = next((i for i, at in times if at >= start), summary)
    return Stretch(first, last) if first <= last else None


def put_summaries(events: list[Event]) -> list[Event]:
    """With each summary in the place of the events that it stands for; `events` are without rewound ones."""
    stretches = _stretches(events)
    if not stretches:
        return events
    covered = {i for stretch in stretches.values() if stretch for i in range(stretch.first, stretch.last + 1)}
    shown = {(stretch.last if stretch else index): index for index, stretch in stretches.items()}
    kept: list[Event] = []
    for index, event in enumerate(events):
        if index in shown:
            kept.append(_as_said(events[shown[index]]))
        elif index not in covered and not event.actions.compaction:
            kept.append(event)
    return kept


def without_superseded(events: Sequence[Event]) -> list[Event]:
    """What a conversation goes on with: without what was rewound, and what the latest summary stands for.

    The last event that it stands for stays, so that its place in the log is known.
    """
    kept = drop_rewound(events)
    index = latest_whole(kept)
    stretch = stretch_of(kept, index) if index is not None else None
    if index is None or stretch is None:
        return kept
    rest = kept[stretch.last :]
    return [event for event in rest if event is kept[index] or not event.actions.compaction]


def last_agent_before(events: Sequence[Event]) -> str | None:
    """Who would have answered after the last event that the latest whole summary stands for."""
    index = latest_whole(events)
    noted = noted_on(events[index]) if index is not None else None
    return noted["last_agent"] if noted else None


def _stretches(events: list[Event]) -> dict[int, Stretch | None]:
    """What each summary stands for, by its position, without those whose events another one covers."""
    found = {i: stretch_of(events, i) for i, event in enumerate(events) if event.actions.compaction}
    return {
        index: stretch
        for index, stretch in found.items()
        if not any(
            other is not None
            and stretch is not None
            and other.holds(stretch)
            and (other != stretch or another > index)
            for another, other in found.items()
        )
    }


def _as_said(summary: Event) -> Event:
    compaction = summary.actions.compaction
    return summary.model_copy(update={"content": compaction.compacted_content if compaction else None})
