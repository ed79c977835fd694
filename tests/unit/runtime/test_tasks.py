"""Concurrent coroutines and streams, the basis of tool calls (contract T2) and parallel agents (A5)."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing

import pytest

from runtime._tasks import TaskPool, first_failure, merge, settle


async def answer(value: int, after: asyncio.Event | None = None) -> int:
    if after:
        await after.wait()
    return value


async def fail(error: Exception) -> int:
    raise error


async def fail_when_cancelled() -> int:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError as cancelled:
        raise TimeoutError("a consequence") from cancelled
    return 0


async def test_results_come_in_the_order_of_the_coroutines() -> None:
    """Contract T2."""
    gate = asyncio.Event()

    async def opener() -> int:
        gate.set()
        return 2

    assert await settle([answer(1, gate), opener(), answer(3)]) == [1, 2, 3]
    assert await settle([]) == []


async def test_after_a_failure_the_others_are_cancelled_and_finished_results_kept() -> None:
    """Contract T2, L5."""
    error = ValueError("no")
    settled = await settle([answer(1), fail(error), answer(3, asyncio.Event())])
    assert settled[:2] == [1, error]
    assert isinstance(settled[2], asyncio.CancelledError)
    assert first_failure(settled) is error
    settled = await settle([fail_when_cancelled(), fail(error)])
    assert first_failure(settled) is error
    assert first_failure([1, asyncio.CancelledError()]) is None


async def test_a_cancelled_settle_leaves_no_task_behind() -> None:
    """Contract L7."""
    cancelled = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    waiting = asyncio.create_task(settle([hang(), hang()]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert cancelled == [1, 1]


async def test_a_failure_that_a_cancelled_settle_does_not_return_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def settle_and_cancel() -> None:
        async def fail_while_cancelled() -> None:
            waiting.cancel()
            raise LookupError("no tool")

        waiting = asyncio.create_task(settle([fail_while_cancelled()]))
        await asyncio.wait([waiting])  # without a traceback, which would keep the task of the coroutine
        assert waiting.cancelled()

    gc.collect()  # what earlier tests have left
    caplog.clear()
    await settle_and_cancel()
    gc.collect()
    assert caplog.messages == []


class Stream:
    """Stream that records its progress."""

    def __init__(self, name: str, length: int, error: Exception | None = None) -> None:
        self.name, self.length, self.error = name, length, error
        self.passed = 0
        self.is_closed = False

    async def items(self) -> AsyncGenerator[str, None]:
        try:
            for number in range(self.length):
                yield f"{self.name}{number}"
                self.passed += 1
            if self.error:
                raise self.error
        finally:
            self.is_closed = True


async def test_a_stream_is_paused_until_its_item_was_consumed() -> None:
    """Contract A5, L3."""
    a, b = Stream("a", 2), Stream("b", 1)
    taken: list[str] = []
    async with aclosing(merge({"a": a.items(), "b": b.items()})) as merged:
        async for item in merged:
            passed = {"a": a.passed, "b": b.passed}[item[0]]
            assert passed == int(item[1])
            taken.append(item)
    assert sorted(taken) == ["a0", "a1", "b0"]
    assert taken.index("a0") < taken.index("a1")
    assert a.is_closed and b.is_closed


async def test_a_slow_stream_does_not_delay_the_others() -> None:
    """Contract A5."""
    gate = asyncio.Event()

    async def slow() -> AsyncGenerator[str, None]:
        await gate.wait()
        yield "slow"

    taken = []
    async for item in merge({"slow": slow(), "a": Stream("a", 3).items()}):
        taken.append(item)
        if item == "a2":
            gate.set()
    assert taken == ["a0", "a1", "a2", "slow"]


async def test_a_failing_stream_cancels_the_others() -> None:
    """Contract A5."""
    other = Stream("b", 1000)
    with pytest.raises(ValueError, match="broken"):
        async for _ in merge({"a": Stream("a", 1, ValueError("broken")).items(), "b": other.items()}):
            pass
    assert other.is_closed and other.passed < 1000


async def test_a_task_that_is_cancelled_before_it_begins_makes_no_coroutine() -> None:
    """Python would warn of a coroutine that nobody has awaited."""
    pool = TaskPool[int]()
    late: list[str] = []

    async def give() -> None:
        await pool.emit(1)

    async def fail() -> None:
        raise OSError

    def begin_late() -> Awaitable[None]:
        late.append("begun")
        return give()

    pool.start("give", give)
    pool.start("fail", fail)
    with pytest.raises(OSError):
        async for _ in pool.items():
            pool.start("late", begin_late)
    assert late == []


async def test_closing_the_merged_stream_closes_all() -> None:
    """Contract L7."""
    streams = [Stream("a", 5), Stream("b", 5)]
    merged = merge({stream.name: stream.items() for stream in streams})
    await anext(merged)
    await merged.aclose()
    assert all(stream.is_closed and stream.passed == 0 for stream in streams)


async def test_merging_nothing_is_an_empty_stream() -> None:
    streams: dict[str, AsyncGenerator[str, None]] = {}
    assert [item async for item in merge(streams)] == []
