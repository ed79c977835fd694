"""Run coroutines and event streams concurrently, or in a separate thread.

Code of agents and tools may raise anything. An `Exception` fails its invocation only; another `BaseException`, such as
`SystemExit`, would leave the task and end the event loop with all other invocations. So `settle` and `merge` replace
such an exception, and report an unrequested `CancelledError` as a failure.
"""

import asyncio
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from runtime._write_scope import adopt_write_scope
from runtime.errors import BaseExceptionError, StrayCancellationError

T = TypeVar("T")
PASSED_ON = (Exception, GeneratorExit, KeyboardInterrupt)
"""Exceptions that `exceptions_only` lets pass: a KeyboardInterrupt comes from the developer, not from an agent."""


def count_cancellations() -> int:
    """Return the number of pending cancellation requests of the current task."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0


@contextmanager
def exceptions_only(subject: str) -> Generator[None, None, None]:
    """Turn a `BaseException` of the block into an `Exception`; `subject` names the failing code in the message.

    Raises:
        StrayCancellationError: the block ended in a `CancelledError`, but nobody cancelled the current task. Usually
            the block awaited a task cancelled by other code.
        BaseExceptionError: the block raised a `SystemExit`, the panic of a native extension, or the like.
    """
    count_before = count_cancellations()
    try:
        yield
    except asyncio.CancelledError as error:
        # The count tells a requested cancellation from a `CancelledError` that some awaited task raised.
        if count_cancellations() > count_before:
            raise
        raise stray_cancellation_error(subject) from error
    except BaseException as error:
        if isinstance(error, PASSED_ON):
            raise
        raise base_exception_error(subject, error) from error


def base_exception_error(subject: str, error: BaseException) -> BaseExceptionError:
    """Return the error for a subject that raised a `BaseException`, such as `SystemExit`."""
    text = f": {error}" if str(error) else ""
    return BaseExceptionError(
        f"{subject} raised {type(error).__name__}{text}. Raise an Exception in its place."
    )


def stray_cancellation_error(subject: str) -> StrayCancellationError:
    """Return the error for a subject that ended in a `CancelledError` without a request."""
    return StrayCancellationError(
        f"{subject} ended in a CancelledError, but nobody stopped the invocation. Catch the error where your code "
        "awaits a task that other code may cancel, or find the code that cancels it."
    )


async def settle(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T | BaseException]:
    """Run the coroutines concurrently; after the first failure, cancel the others.

    Return the result or the exception of each coroutine, in the order of the coroutines. A coroutine that raises an
    exception after it was cancelled counts as cancelled: its exception follows from the failure, and would hide it.
    """
    tasks = [asyncio.create_task(_with_exceptions_only(coroutine)) for coroutine in coroutines]
    if not tasks:
        return []
    for task in tasks:
        # If this coroutine is cancelled, nobody reads the exceptions, and asyncio would log each.
        task.add_done_callback(_mark_exception_as_read)
    try:
        # Not a TaskGroup: it raises an exception group, and callers also need the results that are complete.
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        unfinished = [task for task in tasks if not task.done()]
        for task in unfinished:
            task.cancel()
        if unfinished:  # Awaiting tasks that are done would take two more rounds of the event loop.
            await asyncio.gather(*unfinished, return_exceptions=True)
    return [_outcome(task, is_stopped=task in unfinished) for task in tasks]


def _mark_exception_as_read(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()


async def _with_exceptions_only(coroutine: Coroutine[Any, Any, T]) -> T:
    try:
        # Not `exceptions_only`: the caller reports a stray cancellation itself, with the name of the call.
        return await coroutine
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        if isinstance(error, PASSED_ON):
            raise
        raise base_exception_error("A tool or one of its callbacks", error) from error


def _outcome(task: asyncio.Task[T], *, is_stopped: bool) -> T | BaseException:
    """Return the result or the exception of a finished task; `is_stopped` says that `settle` cancelled it."""
    if task.cancelled():
        return asyncio.CancelledError()
    error = task.exception()
    if error is None:
        return task.result()
    return asyncio.CancelledError() if is_stopped and isinstance(error, Exception) else error


def first_failure(settled: Sequence[object]) -> Exception | None:
    """Return the first failure among the values of `settle`, or None. Skip cancelled coroutines."""
    return next((value for value in settled if isinstance(value, Exception)), None)


class TaskPool(Generic[T]):
    """Tasks whose items go to one consumer. A task may be started while the others run.

    Use `items` once, and start no task after it has ended.
    """

    def __init__(self) -> None:
        self._entries: asyncio.Queue[_Item[T] | _End] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._running = 0

    def start(self, subject: str, run: Callable[[], Awaitable[object]]) -> None:
        """Start a task; `subject` names its code in the messages of errors."""
        self._running += 1
        # The task calls `run`: a coroutine would stay without an await if the task is cancelled before it begins.
        task = asyncio.create_task(self._run(subject, run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def emit(self, item: T) -> None:
        """Give the consumer an item of a task, and wait until it is consumed."""
        # An agent must not run ahead of the commit of its event (contract L3); the other tasks continue.
        consumed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._entries.put_nowait(_Item(item, consumed))
        await consumed

    async def items(self) -> AsyncGenerator[T, None]:
        """Yield the items as they arrive, until all tasks have ended.

        When a task fails, cancel the others and raise its exception.
        """
        try:
            while self._running:
                entry = await self._entries.get()
                if isinstance(entry, _Item):
                    yield entry.value
                    # Its task may have been cancelled since.
                    if not entry.consumed.done():
                        entry.consumed.set_result(None)
                    continue
                self._running -= 1
                if entry.error is not None:
                    raise entry.error
        finally:
            # Also when the consumer closes this generator: no agent may run after the end of its invocation.
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, subject: str, run: Callable[[], Awaitable[object]]) -> None:
        adopt_write_scope()
        try:
            with exceptions_only(subject):
                await run()
        except Exception as error:  # noqa: BLE001  # raised where the items are consumed
            self._entries.put_nowait(_End(error))
        else:
            self._entries.put_nowait(_End())


@dataclass
class _Item(Generic[T]):
    value: T
    consumed: asyncio.Future[None]


@dataclass
class _End:
    """The end of a task, with the exception of a failed one."""

    error: Exception | None = None


async def merge(streams: Mapping[str, AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
    """Yield the items of the named streams as they arrive. Pause each stream until its item is consumed.

    When a stream fails, cancel the others and raise its exception.
    """
    pool = TaskPool[T]()

    async def pump(stream: AsyncGenerator[T, None]) -> None:
        async with aclosing(stream):
            async for item in stream:
                await pool.emit(item)

    for name, stream in streams.items():
        pool.start(name, partial(pump, stream))
    async with aclosing(pool.items()) as items:
        async for item in items:
            yield item


async def call_in_executor(executor: Executor, function: Callable[[], T]) -> T:
    """Call the function in a thread of the executor. Raise a `StopIteration` of the function as a RuntimeError."""

    # A future cannot hold a `StopIteration`: the caller would wait for ever. Coroutines do the same (PEP 479).
    def call() -> T:
        try:
            return function()
        except StopIteration as error:
            raise RuntimeError("The function raised StopIteration.") from error

    return await asyncio.get_running_loop().run_in_executor(executor, call)


def iterate_in_thread(stream: AsyncGenerator[T, None], thread_name: str) -> Generator[T, None, None]:
    """Yield the items of a stream to synchronous code. The stream runs on an event loop in a new thread.

    Pause the stream until its next item is requested. Closing the generator cancels the stream and waits for its end.
    """
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[None] | None]] = Future()
    items: SimpleQueue[tuple[T, asyncio.Event] | None] = SimpleQueue()

    async def pump() -> None:
        started.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        try:
            async with aclosing(stream):
                async for item in stream:
                    next_requested = asyncio.Event()
                    items.put((item, next_requested))
                    await next_requested.wait()
        finally:
            # Also after a failure: the consumer blocks on the queue until this mark.
            items.put(None)

    with ThreadPoolExecutor(1, thread_name) as pool:
        ended = pool.submit(asyncio.run, pump())
        loop, task = started.result()
        try:
            while entry := items.get():
                item, next_requested = entry
                yield item
                loop.call_soon_threadsafe(next_requested.set)
        # Includes GeneratorExit: the stream is paused here, so leaving the pool would wait for it forever.
        except BaseException:
            if task:
                loop.call_soon_threadsafe(task.cancel)
            raise
        # Raises the exception of the stream, if it failed.
        ended.result()
