"""Ranges of a log that rewinds put out of effect."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from runtime.events.effective_path import Rewind, find_path
from sessions_app.history.rewinds import Rewinds

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def rewinds_at(steps: list[tuple[int, int | None]]) -> Rewinds:
    """Return the rewinds of a log with one message before each of them.

    Args:
        steps: for each rewind, the message that it goes back to before, and the earlier rewind that it undoes.
    """
    found, positions = [], {}
    for index, (message, undone) in enumerate(steps):
        positions[f"m-{index}"] = [2 * index + 1]
        undoes = f"r-{undone % index}" if undone is not None and index else None
        found.append(Rewind(2 * index + 2, f"r-{index}", f"m-{message % (index + 1)}", undoes))
    path = find_path(found, positions, first=1, end=2 * len(steps) + 2)
    return Rewinds(path, {rewind.position: BEGIN + timedelta(seconds=rewind.position) for rewind in found})


@given(st.lists(st.tuples(st.integers(0, 20), st.none() | st.integers(0, 20)), max_size=20))
def test_the_ranges_are_the_events_out_of_effect_with_effective_ones_between(
    steps: list[tuple[int, int | None]],
) -> None:
    rewinds = rewinds_at(steps)
    last = max(rewinds.times, default=0)
    covered = [seq for part in rewinds.ranges for seq in range(part.first, part.last + 1)]
    assert covered == [seq for seq in range(1, last + 1) if seq not in rewinds.path]
    for part, following in zip(rewinds.ranges, rewinds.ranges[1:], strict=False):
        assert following.first > part.last + 1
    for part in rewinds.ranges:
        since = rewinds.times.get(part.first, rewinds.times.get(part.first - 1))
        assert (part.at, part.since) == (rewinds.times[part.last], since)


def test_messages_that_are_all_undone_are_one_range() -> None:
    assert len(rewinds_at([(index, None) for index in range(300)]).ranges) == 1
