"""Path of the effective events through a log with rewinds: the one place that decides what is in effect (contract R3).

A log is a tree, written in the order of time. Each event follows the one before it, but a rewind goes back to an
earlier event, and what comes next follows that event. A rewind that undoes an earlier rewind goes forward again, to
where the log stood before the earlier one. The effective events are the path from the first event to the last one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

Spans = tuple[range, ...]
"""Positions in a log, in ascending order."""


@dataclass(frozen=True)
class Rewind:
    """A rewind event.

    Attributes:
        invocation_id: the invocation that it goes back to before.
        undoes: id of an earlier rewind event, if this rewind undoes one: the log then goes on as it was before that
            event, and not as it was before the invocation.
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
        """The first position that this rewind put out of effect or back into effect; its own if there is none."""
        difference = _first_difference(self.before, self.after)
        return self.rewind.position if difference is None else difference

    @cached_property
    def undone(self) -> Spans:
        """The positions that this rewind put out of effect."""
        return undone_positions(self.before, self.after)

    @property
    def last_kept(self) -> int | None:
        """The position that the next event follows; None at the beginning of the log."""
        return self.after[-1][-1] if self.after else None


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
        """Return the last rewind that put the event at the position out of effect; None for an effective event."""
        if position in self:
            return None
        undoing = (step for step in reversed(self.steps) if any(position in span for span in step.undone))
        return next((step.rewind for step in undoing), None)


def find_path(
    rewinds: Iterable[Rewind], positions: Mapping[str, Sequence[int]], *, first: int, end: int
) -> EffectivePath:
    """Return the effective path of a log.

    Args:
        rewinds: the log's rewinds, in order.
        positions: positions of the events of each invocation that a rewind names, in ascending order.
        first: position of the first event.
        end: position after the last event.
    """
    steps: list[RewindStep] = []
    spans_before: dict[str, Spans] = {}
    spans: Spans = ()
    start = first
    for rewind in rewinds:
        spans = _extended(spans, range(start, rewind.position))
        spans_before[rewind.event_id] = spans
        undone = spans_before.get(rewind.undoes) if rewind.undoes else None
        after = (
            _cut_before_first(spans, positions.get(rewind.invocation_id, ())) if undone is None else undone
        )
        steps.append(RewindStep(rewind, spans, after))
        spans = after
        start = rewind.position + 1
    return EffectivePath(steps, _extended(spans, range(start, end)))


def _extended(spans: Spans, following: range) -> Spans:
    return (*spans, following) if following else spans


def _cut_before_first(spans: Spans, positions: Sequence[int]) -> Spans:
    """Return the spans up to the first of the positions that they contain; all spans when they contain none."""
    for index, span in enumerate(spans):
        found = bisect_left(positions, span.start)
        if found < len(positions) and positions[found] in span:
            return _extended(spans[:index], range(span.start, positions[found]))
    return spans


def undone_positions(before: Spans, after: Spans) -> Spans:
    """Return the positions of the path `before` that the path `after` has left."""
    first = _first_difference(before, after)
    clipped = (range(max(span.start, first), span.stop) for span in before) if first is not None else ()
    return tuple(span for span in clipped if span)


def _first_difference(one: Spans, other: Spans) -> int | None:
    """Return the first position that only one of two paths contains; None when they are equal."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    ends = [spans[shared] for spans in (one, other) if shared < len(spans)]
    if len(ends) == 2 and ends[0].start == ends[1].start:
        return min(ends[0].stop, ends[1].stop)
    return min((span.start for span in ends), default=None)
