"""Threads for synchronous tools.

The threads are separate from asyncio's default threads, so slow tools delay only other tools, and not the name lookups
of the whole process.

The synchronous tools of a step run one after another. Authors of plain functions expect no other code in between: two
functions that read, wait and write the state would undo each other's changes. A lock in a context variable does this,
because the calls of a step run in tasks that inherit the variable, and other steps have other locks.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any

from runtime._tasks import call_in_executor

DEFAULT_TOOL_THREADS = 32

_NAME = "adk tool"
_executor = ThreadPoolExecutor(DEFAULT_TOOL_THREADS, _NAME)  # Starts no thread before the first call.
_sync_lock: ContextVar[asyncio.Lock | None] = ContextVar("lock of synchronous tools", default=None)
_clock: "ContextVar[CallClock | None]" = ContextVar("clock of the call of this task", default=None)


class CallClock:
    """Duration of a call, without the wait for earlier synchronous calls. Construct it in the task of the call."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        _clock.set(self)

    @property
    def seconds(self) -> float:
        """Seconds since the call began."""
        return time.monotonic() - self._begun

    def restart(self) -> None:
        self._begun = time.monotonic()


def set_tool_threads(number: int) -> None:
    """Set how many synchronous tools this process runs concurrently. Does not affect running tools."""
    global _executor
    previous = _executor
    _executor = ThreadPoolExecutor(number, _NAME)
    previous.shutdown(wait=False)


@contextmanager
def one_after_another() -> Iterator[None]:
    """Run the synchronous tools of all tasks started in the block one after another, in the order of their calls."""
    lock = _sync_lock.set(asyncio.Lock())
    clock = _clock.set(None)  # A call of an agent tool runs further calls; they must not restart its clock.
    try:
        yield
    finally:
        _sync_lock.reset(lock)
        _clock.reset(clock)


async def run_in_tool_thread(function: Callable[..., Any], /, **arguments: Any) -> Any:
    """Call the function in a tool thread, with the caller's context variables."""
    context = copy_context()
    context.run(_sync_lock.set, None)  # A tool that runs other tools would wait for its own end.
    call = partial(context.run, function, **arguments)
    lock = _sync_lock.get()
    clock = _clock.get()
    async with lock or nullcontext():
        if lock and clock:
            clock.restart()
        return await call_in_executor(_executor, call)
