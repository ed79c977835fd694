"""Running coroutines and event streams side by side, or in a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

from runtime._writing import go_on_in_this_task
from runtime.errors import StrayCancellationError

T = TypeVar("T")


def cancellations() -> int:
    """How often the task that asks was asked to end, without having taken it back."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0


@contextmanager
def no_stray_cancellation(what: str) -> Generator[None, None, None]:
    """Where a `CancelledError` is an error, unless somebody meanwhile asked this task to end.

    Raises:
        StrayCancellationError: names `what` ended so, mostly since it awaited what others had cancelled.
    """
    before = cancellations()
    try:
        yield
    except asyncio.CancelledError as error:
        if cancellations() > before:
            raise
        raise stray_cancellation(what) from error


def stray_cancellation(what: str) -> StrayCancellationError:
    """The error that says so, and what to do."""
    return StrayCancellationError(
        f"{what} ended in a CancelledError, though nobody stopped the invocation. Catch it where something is awaited "
        "that others may cancel, or look for who cancels it."
    )


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


async def merge(streams: Mapping[str, AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
    """Merge named streams as their items come; each stands still until its item has been taken (spec A5).

    A failing stream cancels the others and its exception is raised here.
    """
    queue: asyncio.Queue[tuple[T, asyncio.Event]] = asyncio.Queue()

    async def pump(name: str, stream: AsyncGenerator[T, None]) -> None:
        go_on_in_this_task()
        with no_stray_cancellation(name):
            async with aclosing(stream):
                async for item in stream:
                    taken = asyncio.Event()
                    await queue.put((item, taken))
                    await taken.wait()

    pumps = [asyncio.create_task(pump(name, stream)) for name, stream in streams.items()]
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
