"""Contract: a run may take as long as it makes progress, and ends soon after the last progress."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from tests.chaos import progress
from tests.chaos.progress import while_progress

PATIENCE = 0.2


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOOK_SECONDS", 0.01)


async def test_a_block_may_take_longer_than_the_patience_while_the_measure_changes() -> None:
    looks = 0
    is_long_over = asyncio.Event()
    begin = asyncio.get_running_loop().time()

    async def measure() -> int:
        nonlocal looks
        looks += 1
        if asyncio.get_running_loop().time() > begin + 3 * PATIENCE:
            is_long_over.set()
        return looks

    async with while_progress(measure, patience=PATIENCE):
        await is_long_over.wait()
    assert looks > 1


async def test_a_block_ends_when_the_measure_stays_the_same_or_fails() -> None:
    values: Iterator[int | OSError] = chain([1, 2, 2, OSError("The database is away.")], repeat(2))
    last_value = 0

    async def measure() -> int:
        nonlocal last_value
        value = next(values)
        if isinstance(value, OSError):
            raise value
        last_value = value
        return value

    with pytest.raises(TimeoutError):
        async with while_progress(measure, patience=PATIENCE):
            await asyncio.Event().wait()
    assert last_value == 2
