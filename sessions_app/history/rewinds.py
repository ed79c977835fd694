"""Ranges of events that rewinds undid: the log keeps them, the chat does not show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, Func, Q, TextField
from django.db.models.fields.json import KT

from runtime.events.allowances import WITHDRAWAL_KEY
from sessions_app.db.threads import in_thread
from sessions_app.models import Event
from sessions_app.models.event import EventQuerySet

_TARGET = "body__actions__rewindBeforeInvocationId"


@dataclass(frozen=True)
class RewoundRange:
    """The events `first` to `last`, undone by a rewind, which is the event `last` itself.

    Attributes:
        invocation_id: the first invocation that was undone.
        at: time of the rewind; None when the event has none that a calendar has.
    """

    first: int
    last: int
    invocation_id: str
    at: datetime | None

    def __contains__(self, seq: int) -> bool:
        return self.first <= seq <= self.last


def rewound_ranges(session_id: UUID, until: int | None = None) -> list[RewoundRange]:
    """Return the ranges that the log's rewinds up to the event `until` undid, in order, as `drop_rewound` does.

    One query without rewinds, two with; they read sequence numbers, not events.
    """
    events = Event.objects.filter(session_id=session_id)
    if until is not None:
        events = events.filter(seq__lte=until)
    found = events.rewinds().annotate(
        kind_of_target=Func(F(_TARGET), function="jsonb_typeof", output_field=TextField())
    )
    named = found.filter(kind_of_target="string").order_by("seq")
    rewinds = list(named.values_list("seq", KT(_TARGET), "happened_at"))
    if not rewinds:
        return []
    seqs: defaultdict[str, list[int]] = defaultdict(list)
    undone = events.filter(invocation_id__in={invocation_id for _, invocation_id, _ in rewinds})
    for invocation_id, seq in undone.order_by("seq").values_list("invocation_id", "seq"):
        seqs[invocation_id].append(seq)
    ranges: list[RewoundRange] = []
    for last, invocation_id, at in rewinds:
        effective = (seq for seq in seqs[invocation_id] if not any(seq in other for other in ranges))
        first = min(next(effective, last), last)
        ranges = [other for other in ranges if other.first < first]
        ranges.append(RewoundRange(first, last, invocation_id, at))
    return ranges


def without_rewound(events: EventQuerySet, ranges: Iterable[RewoundRange]) -> EventQuerySet:
    """Return the events outside of the ranges, and withdrawals of allowances, which no rewind undoes."""
    is_withdrawal = Q(author="user", text=None, body__customMetadata__has_key=WITHDRAWAL_KEY)
    for part in ranges:
        events = events.filter(~Q(seq__range=(part.first, part.last)) | is_withdrawal)
    return events


async def rewound_from(session_id: UUID, seq: int) -> int:
    """Return the first event that the rewind `seq`, or a later rewind that covers it, has undone."""
    ranges = await in_thread(rewound_ranges, session_id)
    return next(undone.first for undone in ranges if seq in undone)
