"""Effective events after rewinds: pure functions over events (contract R3).

The log keeps all events. A rewind is an event that names an invocation, and the session continues as it was before this
invocation. A rewind that undoes an earlier rewind also names the earlier rewind event, and the session continues as it
was before the earlier rewind. `effective_path` decides on positions; this module applies the decision to events.
"""

from collections.abc import Sequence
from itertools import chain

from runtime.events.allowances import withdrawn_tool
from runtime.events.effective_path import EffectivePath, Rewind, find_path
from runtime.events.event import Event

UNDONE_REWIND_KEY = "adk_undone_rewind"
"""Key in `custom_metadata` of a rewind event that undoes an earlier rewind: the id of the earlier event."""


def as_rewind(event: Event, position: int) -> Rewind | None:
    """Return the event as a `Rewind`; None for all other events."""
    back_to = event.actions.rewind_before_invocation_id
    if back_to is None:
        return None
    undoes = (event.custom_metadata or {}).get(UNDONE_REWIND_KEY)
    return Rewind(position, event.id, back_to, undoes if isinstance(undoes, str) else None)


def effective_path_of(events: Sequence[Event]) -> EffectivePath:
    """Return the effective path of a log; positions are indexes."""
    rewinds: list[Rewind] = []
    for index, event in enumerate(events):
        if event.actions.rewind_before_invocation_id is not None:
            rewind = as_rewind(event, index)
            if rewind is not None:
                rewinds.append(rewind)
    # A second pass, because only now the invocations are known. Most logs have no rewind and need one pass.
    positions: dict[str, list[int]] = {rewind.invocation_id: [] for rewind in rewinds}
    if positions:
        for index, event in enumerate(events):
            if event.invocation_id in positions:
                positions[event.invocation_id].append(index)
    return find_path(rewinds, positions, first=0, end=len(events))


def drop_rewound(events: Sequence[Event]) -> list[Event]:
    """Return the events without rewound events, rewind events, and summaries of rewound events."""
    path = effective_path_of(events)
    if not path.steps:
        return list(events)
    kept: list[Event] = []
    rewound_times: set[float] = set()
    effective = set(chain.from_iterable(path.spans))
    for index, event in enumerate(events):
        if event.actions.rewind_before_invocation_id is not None:
            continue
        if index not in effective:
            rewound_times.add(event.timestamp)
        # The withdrawal of an allowance stays: a rewind takes back a permission of the user, never a refusal.
        if (index in effective and not _summarizes_rewound(event, rewound_times)) or withdrawn_tool(event):
            kept.append(event)
    return kept


def rewinds_past_start(events: Sequence[Event]) -> bool:
    """Return True if a rewind in `events`, the end of a log, depends on its first event or on an earlier event."""
    known: set[str] = set()
    for step in effective_path_of(events).steps:
        if step.rewind.undoes is None:
            is_past = not step.undone or step.undone[0].start == 0
        else:
            is_past = step.rewind.undoes not in known
        if is_past:
            return True
        known.add(step.rewind.event_id)
    return False


def index_of_invocation(events: Sequence[Event], invocation_id: str) -> int:
    """Return the index of the invocation's first event; `len(events)` when the invocation has none."""
    for index, event in enumerate(events):
        if event.invocation_id == invocation_id:
            return index
    return len(events)


def _summarizes_rewound(event: Event, rewound_times: set[float]) -> bool:
    """Return True for a summary with a rewound event at its end."""
    # Compaction does not lock the session: a summary begun before a rewind may be stored after it.
    compaction = event.actions.compaction
    return compaction is not None and compaction.end_timestamp in rewound_times
