"""Bridges between asyncio and threads: ORM code called from asyncio, coroutines run from threads and Celery workers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import SyncToAsync, sync_to_async

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ORM code in Django's database thread."""
    return await sync_to_async(function, thread_sensitive=True)(*args, **kwargs)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop and wait for its result.

    The loop is the one that started this thread, else the process's background loop: a process has one relay on one
    loop, because Redis's channel layer refuses a second. The coroutine must not use `in_thread`: the thread that
    waits here may be Django's database thread.
    """
    loop = calling_loop() or background_loop()
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


def calling_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop that waits for this thread (a synchronous view, `in_thread`); None in a Celery process."""
    loop: asyncio.AbstractEventLoop | None = getattr(SyncToAsync.threadlocal, "main_event_loop", None)
    return loop if loop is not None and loop.is_running() else None


@lru_cache(maxsize=1)
def background_loop() -> asyncio.AbstractEventLoop:
    """Return the process's event loop in its own thread, started at first use; pools and tasks outlive one call."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="adk background loop", daemon=True).start()
    return loop
