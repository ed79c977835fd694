"""Alternatives: continuations of a session after the same event, by edits and regenerated answers.

The log keeps rewound events, and the page offers to switch between the continuations. A rewind `R` at position 5 to
before event 3 leaves two alternatives after event 2:

    1  2  3  4  R5  6  7          fork: parent 2, alternatives 3 and 6, in effect 6
          `--'      `--'
"""

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
    """Place in the effective log with alternatives.

    Attributes:
        parent: `seq` of the event before all alternatives; 0 at the beginning of the log.
        alternatives: `seq` of the first event of each alternative, oldest first.
        seq: `seq` of the first event of the effective alternative.
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
        """First event of the alternative before the effective alternative; None if there is none."""
        return self.alternatives[self.number - 2] if self.number > 1 else None

    @property
    def following(self) -> int | None:
        """First event of the alternative after the effective alternative; None if there is none."""
        return self.alternatives[self.number] if self.number < self.count else None


def find_forks(session: Session, rewinds: Rewinds) -> list[Fork]:
    """Return the forks of the effective log up to `session.last_seq`, in order. One query if there were rewinds.

    An alternative has at least one message of the person.

    Args:
        rewinds: the rewinds of this part of the log.
    """
    starts = _starts_by_parent(rewinds, session.last_seq)
    with_message = _starts_with_message(session, rewinds, set().union(*starts.values()))
    found: list[Fork] = []
    for parent in sorted(starts):
        # After a rewind there may be nothing but the late response of a job: no continuation that a person would look
        # for.
        alternatives = sorted(starts[parent] & with_message)
        effective = next((seq for seq in alternatives if seq in rewinds.path), None)
        if effective is not None and len(alternatives) > 1:
            found.append(Fork(parent, alternatives, effective))
    return found


def _starts_by_parent(rewinds: Rewinds, last_seq: int) -> dict[int, set[int]]:
    """Return the first events of the continuations after each event to which a rewind went back, by its `seq`."""
    starts: defaultdict[int, set[int]] = defaultdict(set)
    for step in rewinds.path.steps:
        parent = step.last_kept or 0
        # The first continuation follows the parent in the log. Each other continuation follows a rewind.
        following = {parent + 1, step.rewind.position + 1}
        starts[parent] |= {seq for seq in following if seq <= last_seq and seq not in rewinds.times}
    return {parent: seqs for parent, seqs in starts.items() if len(seqs) > 1}


def _starts_with_message(session: Session, rewinds: Rewinds, starts: Iterable[int]) -> set[int]:
    """Return the starts with a message of the person between them, inclusive, and the next rewind."""
    ends = sorted(rewinds.times)
    ranges: dict[int, range] = {}
    for start in starts:
        end = next((seq for seq in ends if seq > start), session.last_seq + 1)
        ranges[start] = range(start, end)
    if not ranges:
        return set()
    is_near = reduce(or_, (Q(seq__range=(part.start, part[-1])) for part in ranges.values()))
    messages = session.events.filter(is_near, author="user", kind=EventKind.MESSAGE)
    seqs = list(messages.values_list("seq", flat=True))
    return {start for start, part in ranges.items() if any(seq in part for seq in seqs)}
