"""Path of the effective events through a log with rewinds (contract R3). No other code decides what is effective.

A log is a tree, written in the order of time. Each event follows the event before it. A rewind goes back to an earlier
event, which the next event then follows. A rewind that undoes an earlier rewind goes forward again, to the event before
the earlier rewind. The effective events are the path from the first event to the last:

    position   0 1 2 3 4 5   6        7   8           9
    event      a a b b c c   rewind b d   undo of 6   e        (letters are invocations)
    effective  a a b b c c                            e        after the undo; after the rewind: a a d

The functions see rewinds and positions only, not events. So their cost grows with the number of rewinds and not with
the log, and they serve lists of events and database rows alike.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

Spans = tuple[range, ...]
"""Positions in a log, in ascending order."""


@dataclass(frozen=True)
class Rewind:
    """A rewind event.

    Attributes:
        invocation_id: the log continues as it was before this invocation.
        undoes: id of an earlier rewind event to undo. If set, the log continues as it was before the
            earlier rewind instead.
    """

    position: int
    event_id: str
    invocation_id: str
    undoes: str | None = None


@dataclass(frozen=True)
class RewindStep:
    """A rewind with the effective positions before and after it."""

    rewind: Rewind
    before: Spans
    after: Spans

    @cached_property
    def first_change(self) -> int:
        """First position that this rewind put out of effect or back into effect; its own position if there is none."""
        difference = _first_difference(self.before, self.after)
        if difference is None:
            return self.rewind.position
        return difference

    @cached_property
    def undone(self) -> Spans:
        """Positions that this rewind put out of effect."""
        return undone_positions(self.before, self.after)

    @property
    def last_kept(self) -> int | None:
        """Position that the next event follows; None at the beginning of the log."""
        if not self.after:
            return None
        return self.after[-1][-1]


@dataclass(frozen=True)
class EffectivePath:
    """The effective positions of a log.

    Attributes:
        steps: the rewinds, in order.
    """

    steps: Sequence[RewindStep]
    spans: Spans

    def __contains__(self, position: int) -> bool:
        return any(position in span for span in self.spans)

    def undone_by(self, position: int) -> Rewind | None:
        """Return the latest rewind that put this position out of effect; None for an effective position."""
        if position in self:
            return None
        for step in reversed(self.steps):
            if any(position in span for span in step.undone):
                return step.rewind
        return None


def find_path(
    rewinds: Iterable[Rewind], positions: Mapping[str, Sequence[int]], *, first: int, end: int
) -> EffectivePath:
    """Return the effective path of a log.

    Args:
        rewinds: the log's rewinds, in order.
        positions: positions of the events of each invocation named by a rewind, in ascending order.
        first: position of the first event.
        end: position after the last event.
    """
    steps: list[RewindStep] = []
    spans_before: dict[str, Spans] = {}
    spans: Spans = ()
    start = first
    for rewind in rewinds:
        spans = _extend_spans(spans, range(start, rewind.position))
        spans_before[rewind.event_id] = spans
        # If the beginning of the log is not loaded, the undone rewind may be missing: the named invocation decides.
        if rewind.undoes in spans_before:
            after = spans_before[rewind.undoes]
        else:
            after = _cut_before_first(spans, positions.get(rewind.invocation_id, ()))
        steps.append(RewindStep(rewind, spans, after))
        spans = after
        start = rewind.position + 1
    return EffectivePath(steps, _extend_spans(spans, range(start, end)))


def _extend_spans(spans: Spans, following: range) -> Spans:
    if not following:
        return spans
    return (*spans, following)


def _cut_before_first(spans: Spans, positions: Sequence[int]) -> Spans:
    """Return the spans, cut before the first of `positions` that is on the path, if any."""
    for index, span in enumerate(spans):
        found = bisect_left(positions, span.start)
        if found < len(positions) and positions[found] in span:
            return _extend_spans(spans[:index], range(span.start, positions[found]))
    return spans


def undone_positions(before: Spans, after: Spans) -> Spans:
    """Return the positions of the path `before` without the positions of the path `after`."""
    first = _first_difference(before, after)
    if first is None:
        return ()
    undone: Spans = ()
    for span in before:
        undone = _extend_spans(undone, range(max(span.start, first), span.stop))
    return undone


def _first_difference(path: Spans, other: Spans) -> int | None:
    """Return the first position that only one of two paths contains; None if the paths are equal."""
    # Two paths through a tree share their beginning and diverge once.
    for span, other_span in zip(path, other, strict=False):
        if span.start != other_span.start:
            return min(span.start, other_span.start)
        if span.stop != other_span.stop:
            return min(span.stop, other_span.stop)
    if len(path) == len(other):
        return None
    longer = max(path, other, key=len)
    return longer[min(len(path), len(other))].start
