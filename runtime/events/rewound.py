"""Effective events after rewinds: pure functions over events (contract R3).

The log keeps everything. A rewind is an event that names an invocation; the session continues as it was before that
invocation.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.events.allowances import withdrawn_tool
from runtime.events.event import Event


def drop_rewound(events: Sequence[Event]) -> list[Event]:
    """Return the events without rewound ones, rewind events, and summaries of rewound events.

    The withdrawal of an allowance stays: a rewind takes back what a person has allowed, never what they have forbidden.
    """
    kept: list[Event] = []
    rewound_times: set[float] = set()
    for event in events:
        back_to = event.actions.rewind_before_invocation_id
        if back_to is not None:
            first = index_of_invocation(kept, back_to)
            rewound_times.update(dropped.timestamp for dropped in kept[first:])
            kept[first:] = [event for event in kept[first:] if withdrawn_tool(event)]
        elif not _summarizes_rewound(event, rewound_times):
            kept.append(event)
    return kept


def rewinds_past_start(events: Sequence[Event]) -> bool:
    """True when a rewind in `events`, the latest of a log, goes back to the first of them or further."""
    kept: list[Event] = []
    for event in events:
        back_to = event.actions.rewind_before_invocation_id
        if back_to is None:
            kept.append(event)
            continue
        first = index_of_invocation(kept, back_to)
        if first in (0, len(kept)):
            return True
        del kept[first:]
    return False


def index_of_invocation(events: Sequence[Event], invocation_id: str) -> int:
    """Return the index of the invocation's first event; `len(events)` when the invocation has none."""
    return next((i for i, event in enumerate(events) if event.invocation_id == invocation_id), len(events))


def _summarizes_rewound(event: Event, rewound_times: set[float]) -> bool:
    """True for a summary that was begun before a rewind and stored after it."""
    compaction = event.actions.compaction
    return compaction is not None and compaction.end_timestamp in rewound_times
