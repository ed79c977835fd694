"""What rewinds take out of a history: pure questions over events (spec R3).

The log keeps everything; a rewind is an event that says before which invocation the conversation goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.events.event import Event


def drop_rewound(events: Sequence[Event]) -> list[Event]:
    """Without what a later event rewound, the rewinds themselves, and summaries of what was rewound."""
    kept: list[Event] = []
    rewound: set[float] = set()
    for event in events:
        back_to = event.actions.rewind_before_invocation_id
        if back_to is not None:
            first = index_of_invocation(kept, back_to)
            rewound.update(dropped.timestamp for dropped in kept[first:])
            del kept[first:]
        elif not _sums_up(event, rewound):
            kept.append(event)
    return kept


def reaches_back(events: Sequence[Event]) -> bool:
    """Whether a rewind among these latest events of a log goes back to the first of them, or before it."""
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
    """Where the invocation begins; `len(events)` when it is not among them."""
    return next((i for i, event in enumerate(events) if event.invocation_id == invocation_id), len(events))


def _sums_up(event: Event, rewound: set[float]) -> bool:
    """Whether the event is a summary that was begun before a rewind and stored after it."""
    compaction = event.actions.compaction
    return compaction is not None and compaction.end_timestamp in rewound
