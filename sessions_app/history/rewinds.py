"""Rewinds in a stored log: the log keeps rewound events, and the chat does not show them.

A rewind is an event itself, and a later rewind may undo it. `find_path` of the runtime finds the effective events from
the rewinds alone, so the site reads sequence numbers and no bodies:

    1 2 3 4 R5 6 7 R8       R5 goes back before 3; R8 undoes R5
    effective after R5: 1 2            after 7: 1 2 6 7            after R8: 1 2 3 4
"""

import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import F, Func, Q, TextField
from django.db.models.fields.json import KT

from runtime.events.allowances import WITHDRAWAL_KEY
from runtime.events.effective_path import EffectivePath, Rewind, find_path
from runtime.events.rewound import UNDONE_REWIND_KEY
from sessions_app.base.codec import json_object
from sessions_app.models import Event
from sessions_app.models.event import EventQuerySet
from sessions_app.process.threads import in_thread

END = sys.maxsize
"""Position after the last event, for a log of unknown length."""
_TARGET = "body__actions__rewindBeforeInvocationId"
_UNDONE = f"body__customMetadata__{UNDONE_REWIND_KEY}"


@dataclass(frozen=True)
class RewoundRange:
    """The events `first` to `last`, none of them in effect, between effective events. The event `last` is a rewind.

    Attributes:
        since: time of the rewind at the beginning of the range or just before; None without such a rewind.
        at: time of the last rewind in the range with a valid time; None without such a rewind.
    """

    first: int
    last: int
    since: datetime | None
    at: datetime | None


@dataclass(frozen=True)
class Rewinds:
    """The rewinds of a log, with the path of its effective events; positions are `seq`s."""

    path: EffectivePath
    times: dict[int, datetime | None]

    @property
    def in_effect(self) -> Q:
        """Filter for the effective events of the log."""
        if not self.times:
            return Q(seq__gte=1)
        found = Q(pk__in=())  # no event: an empty `Q` would match all
        for span in self.path.spans:
            found |= Q(seq__range=(span.start, span[-1]))
        return found

    def is_undone(self, seq: int, body: object) -> bool:
        """True if the event is rewound, except a withdrawal of an allowance: no rewind brings a permission back."""
        is_withdrawal = WITHDRAWAL_KEY in json_object(body, "customMetadata")
        return self.path.undone_by(seq) is not None and not is_withdrawal

    @property
    def ranges(self) -> list[RewoundRange]:
        """The ranges without effective events, in order. Each ends with a rewind."""
        ranges: list[RewoundRange] = []
        stops = [span.stop for span in self.path.spans]
        first = 1
        for last, at in self.times.items():
            kept = bisect_right(stops, last)
            stop = stops[kept - 1] if kept else 1
            if ranges and stop <= first:  # no effective event between the range before and this one
                before = ranges.pop()
                ranges.append(replace(before, last=last, at=at or before.at))
            else:
                first = max(first, stop)
                ranges.append(RewoundRange(first, last, self.times.get(first, self.times.get(first - 1)), at))
            first = last + 1
        return ranges


def find_rewinds(session_id: UUID, until: int | None = None) -> Rewinds:
    """Return the rewinds of a log, up to the event `until`.

    One query without rewinds, two with; they read sequence numbers, not events.
    """
    events = Event.objects.filter(session_id=session_id)
    if until is not None:
        events = events.filter(seq__lte=until)
    rewinds, times = _rewinds_in(events)
    end = END if until is None else until + 1
    path = find_path(rewinds, _seqs_of_invocations(events, rewinds), first=1, end=end)
    return Rewinds(path, times)


def without_rewound(events: EventQuerySet, rewinds: Rewinds) -> EventQuerySet:
    """Return the effective events, and all withdrawals of allowances."""
    if not rewinds.times:
        return events
    # A rewind undoes no withdrawal: a permission taken back must not return.
    is_withdrawal = Q(author="user", text=None, body__customMetadata__has_key=WITHDRAWAL_KEY)
    return events.filter(rewinds.in_effect | is_withdrawal)


async def rewound_from(session_id: UUID, seq: int) -> int:
    """Return the first event put out of effect, or back into effect, by the rewind `seq`."""
    rewinds = await in_thread(find_rewinds, session_id, seq)
    return rewinds.path.steps[-1].first_change


def _rewinds_in(events: EventQuerySet) -> tuple[list[Rewind], dict[int, datetime | None]]:
    """Return the rewinds whose target is a text, as the runtime requires, and their times by `seq`."""
    # Compare the type in PostgreSQL: it stores numbers with more digits than Python parses.
    typed = events.rewinds().annotate(
        kind_of_target=Func(F(_TARGET), function="jsonb_typeof", output_field=TextField())
    )
    named = typed.filter(kind_of_target="string").order_by("seq")
    rewinds: list[Rewind] = []
    times: dict[int, datetime | None] = {}
    for seq, event_id, invocation_id, undone, happened_at in named.values_list(
        "seq", "event_id", KT(_TARGET), KT(_UNDONE), "happened_at"
    ):
        rewinds.append(Rewind(seq, event_id or "", invocation_id, undone))
        times[seq] = happened_at
    return rewinds, times


def _seqs_of_invocations(events: EventQuerySet, rewinds: Sequence[Rewind]) -> dict[str, list[int]]:
    seqs: defaultdict[str, list[int]] = defaultdict(list)
    if rewinds:
        named = events.filter(invocation_id__in={rewind.invocation_id for rewind in rewinds})
        for invocation_id, seq in named.order_by("seq").values_list("invocation_id", "seq"):
            seqs[invocation_id].append(seq)
    return seqs
