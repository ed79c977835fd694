"""Alternatives: ways in which a session has gone on after the same event, by edits and regenerated answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Q

from sessions_app.history.rewinds import Rewinds
from sessions_app.models import EventKind, Session


@dataclass(frozen=True)
class Fork:
    """Place in the effective log at which it has alternatives.

    Attributes:
        parent: `seq` of the event that all alternatives follow; 0 at the beginning of the log.
        alternatives: `seq` of the first event of each alternative, oldest first.
        seq: `seq` of the first event of the alternative that is in effect.
    """

    parent: int
    alternatives: list[int]
    seq: int

    @property
    def number(self) -> int:
        """Position of the effective alternative, from 1."""
        return self.alternatives.index(self.seq) + 1

    @property
    def count(self) -> int:
        """Number of alternatives."""
        return len(self.alternatives)

    @property
    def previous(self) -> int | None:
        """First event of the alternative before the effective one; None for the oldest."""
        return self.alternatives[self.number - 2] if self.number > 1 else None

    @property
    def following(self) -> int | None:
        """First event of the alternative after the effective one; None for the newest."""
        return self.alternatives[self.number] if self.number < self.count else None


def find_forks(session: Session, rewinds: Rewinds) -> list[Fork]:
    """Return the forks of the effective log up to `session.last_seq`, in order. One query if there were rewinds.

    Only an alternative with a message of the person counts: after a rewind there may be the response of a job alone.

    Args:
        rewinds: the rewinds of this part of the log.
    """
    starts = _starts_by_parent(rewinds, session.last_seq)
    with_message = _starts_with_message(
        session, rewinds, {start for seqs in starts.values() for start in seqs}
    )
    found: list[Fork] = []
    for parent in sorted(starts):
        alternatives = sorted(starts[parent] & with_message)
        effective = next((seq for seq in alternatives if seq in rewinds.path), None)
        if effective is not None and len(alternatives) > 1:
            found.append(Fork(parent, alternatives, effective))
    return found


def _starts_by_parent(rewinds: Rewinds, last_seq: int) -> dict[int, set[int]]:
    """Return the `seq`s of the events that follow each fork, by the `seq` of the event to which a rewind went back."""
    starts: defaultdict[int, set[int]] = defaultdict(set)
    for step in rewinds.path.steps:
        parent = step.last_kept or 0
        following = {parent + 1, step.rewind.position + 1}
        starts[parent] |= {seq for seq in following if seq <= last_seq and seq not in rewinds.times}
    return {parent: seqs for parent, seqs in starts.items() if len(seqs) > 1}


def _starts_with_message(session: Session, rewinds: Rewinds, starts: Iterable[int]) -> set[int]:
    """Return the starts that a message of the person follows, or that are one, before the next rewind."""
    ends = sorted(rewinds.times)
    ranges = {
        start: range(start, next((seq for seq in ends if seq > start), session.last_seq + 1))
        for start in starts
    }
    if not ranges:
        return set()
    is_near = reduce(or_, (Q(seq__range=(part.start, part[-1])) for part in ranges.values()))
    messages = session.events.filter(is_near, author="user", kind=EventKind.MESSAGE)
    seqs = list(messages.values_list("seq", flat=True))
    return {start for start, part in ranges.items() if any(seq in part for seq in seqs)}
