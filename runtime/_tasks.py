"""Running coroutines and event streams side by side, or in a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from queue import SimpleQueue
from typing import Any, TypeVar

from runtime._writing import go_on_in_this_task

T = TypeVar("T")


async def settle(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T | BaseException]:
    """Run the coroutines together; when one fails, cancel the rest. Results and failures come in order."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    if not tasks:
        return []
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        settled = await asyncio.gather(*tasks, return_exceptions=True)
    return settled


def first_failure(settled: Sequence[object]) -> Exception | None:
    """The first failure among the values of `settle` that is not a mere cancellation."""
    return next((value for value in settled if isinstance(value, Exception)), None)


async def merge(streams: Sequence[AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
    """Merge streams as their items come; each stream stands still until its item has been taken (spec A5).

    A failing stream cancels the others and its exception is raised here.
    """
    queue: asyncio.Queue[tuple[T, asyncio.Event]] = asyncio.Queue()

    async def pump(stream: AsyncGenerator[T, None]) -> None:
        go_on_in_this_task()
        async with aclosing(stream):
            async for item in stream:
                taken = asyncio.Event()
                await queue.put((item, taken))
                await taken.wait()

    pumps = [asyncio.create_task(pump(stream)) for stream in streams]
    try:
        while item := await _next_item(queue, pumps):
            yield item[0]
            item[1].set()
    finally:
        for task in pumps:
            task.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


async def _next_item(
    queue: asyncio.Queue[tuple[T, asyncio.Event]], pumps: Sequence[asyncio.Task[None]]
) -> tuple[T, asyncio.Event] | None:
    """The next item, or None when every stream has ended; raises what a stream raised."""
    getter = asyncio.create_task(queue.get())
    try:
        while not getter.done():
            running = [task for task in pumps if not task.done()]
            for task in pumps:
                if task.done():
                    task.result()
            if not running and queue.empty():
                return None
            await asyncio.wait([getter, *running], return_when=asyncio.FIRST_COMPLETED)
        return getter.result()
    finally:
        getter.cancel()


def iterate_in_thread(stream: AsyncGenerator[T, None], name: str) -> Generator[T, None, None]:
    """The items of a stream that runs on an event loop in a thread of its own, for code without a loop.

    The stream stands still until its next item is asked for. Closing the generator cancels it and waits for its end.
    """
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[None] | None]] = Future()
    items: SimpleQueue[tuple[T, asyncio.Event] | None] = SimpleQueue()

    async def pump() -> None:
        begun.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        try:
            async with aclosing(stream):
                async for item in stream:
                    asked = asyncio.Event()
                    items.put((item, asked))
                    await asked.wait()
        finally:
            items.put(None)

    with ThreadPoolExecutor(1, name) as pool:
        ended = pool.submit(asyncio.run, pump())
        loop, task = begun.result()
        try:
            while found := items.get():
                yield found[0]
                loop.call_soon_threadsafe(found[1].set)
        except BaseException:
            if task:
                loop.call_soon_threadsafe(task.cancel)
            raise
        ended.result()
