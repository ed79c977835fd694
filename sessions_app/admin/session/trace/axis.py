"""Time axis of a waterfall, with long waits shortened.

A person answers after a day, a model after a second: on a proportional axis only the wait could be seen.
"""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise

from sessions_app.history.traces.spans import WAITS, WITH_OTHERS, Span, SpanKind

WIDTH = 1000
"""Units of the whole axis."""
IDLE_SHARE = 0.05
"""Longest pause on the axis, as a share of the working time. Longer pauses are shortened to this share."""


class Axis:
    """Positions of times, in proportion except for pauses. `has_breaks` is True if a pause is shortened."""

    def __init__(self, spans: Iterable[Span]) -> None:
        times: set[float] = set()
        working: list[tuple[float, float]] = []
        for span in spans:
            interval = (span.start, span.end or span.start)
            times.update(interval)
            if _is_work(span):
                working.append(interval)
        busy = _merged(working)
        # Between two edges the site either works all the time or not at all.
        edges = sorted(times) or [0.0]
        worked = sum(end - start for start, end in busy)
        longest_idle = IDLE_SHARE * worked or 1.0
        starts = [start for start, _ in busy]
        self._times = [edges[0]]
        self._places = [0.0]
        self.has_breaks = False
        for left, right in pairwise(edges):
            at = bisect_right(starts, left) - 1
            is_busy = at >= 0 and busy[at][1] >= right
            shown = right - left if is_busy else min(right - left, longest_idle)
            self.has_breaks |= shown < right - left
            self._times.append(right)
            self._places.append(self._places[-1] + shown)

    def position(self, time: float) -> float:
        """Return the place of a time, in seconds since the epoch: a number from 0 to `WIDTH`."""
        at = min(max(bisect_right(self._times, time) - 1, 0), len(self._times) - 2)
        if at < 0 or not self._places[-1]:
            return 0.0
        left = self._times[at]
        right = self._times[at + 1]
        share = (time - left) / (right - left) if right > left else 0.0
        place = self._places[at] + min(max(share, 0.0), 1.0) * (self._places[at + 1] - self._places[at])
        return round(WIDTH * place / self._places[-1], 1)


def _is_work(span: Span) -> bool:
    if span.kind in WITH_OTHERS:  # Spans of agents and nodes include waits.
        return False
    # The wait in the queue counts as working time.
    return span.kind is SpanKind.QUEUE or span.kind not in WAITS


def _merged(intervals: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
