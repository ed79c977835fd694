"""What rewinds took out of a conversation, by the events' numbers: the log keeps it, the chat does not show it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sessions_app.db.threads import in_thread
from sessions_app.models import Event


@dataclass(frozen=True)
class RewoundRange:
    """The events `first` to `last`, which do not count any more; the last one is the rewind.

    Attributes:
        invocation_id: the first that was undone.
        at: when it was.
    """

    first: int
    last: int
    invocation_id: str
    at: datetime

    def __contains__(self, seq: int) -> bool:
        return self.first <= seq <= self.last


def rewound_ranges(session_id: UUID, until: int | None = None) -> list[RewoundRange]:
    """The parts of a log that were rewound by its event `until`, in order, as `drop_rewound` would take them out.

    One query, two when there is something. Only numbers are read, no events.
    """
    events = Event.objects.filter(session_id=session_id)
    if until is not None:
        events = events.filter(seq__lte=until)
    back_to = "body__actions__rewindBeforeInvocationId"
    rewinds = list(events.rewinds().order_by("seq").values_list("seq", back_to, "happened_at"))
    if not rewinds:
        return []
    seqs: defaultdict[str, list[int]] = defaultdict(list)
    theirs = events.filter(invocation_id__in={invocation_id for _, invocation_id, _ in rewinds})
    for invocation_id, seq in theirs.order_by("seq").values_list("invocation_id", "seq"):
        seqs[invocation_id].append(seq)
    parts: list[RewoundRange] = []
    for last, invocation_id, at in rewinds:
        counting = (seq for seq in seqs[invocation_id] if not any(seq in part for part in parts))
        first = min(next(counting, last), last)
        parts = [part for part in parts if part.first < first]
        parts.append(RewoundRange(first, last, invocation_id, at))
    return parts


async def rewound_from(session_id: UUID, seq: int) -> int:
    """The first event that does not count any more because of the rewind `seq`, or of a later one."""
    parts = await in_thread(rewound_ranges, session_id)
    return next(part.first for part in parts if seq in part)
