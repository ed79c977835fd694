"""Between the two worlds: ORM code from asyncio, asyncio code from the ORM's threads and from Celery's processes."""

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
    """Run ORM code in Django's thread for it."""
    return await sync_to_async(function, thread_sensitive=True)(*args, **kwargs)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and wait for it: on the loop that this thread works for, else on the process's background loop.

    A process has one relay, on one loop: Redis's channel layer refuses a second. The coroutine must not ask for
    Django's thread, which may be the one that waits here.
    """
    loop = _loop_of_this_thread() or background_loop()
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


def _loop_of_this_thread() -> asyncio.AbstractEventLoop | None:
    """The loop that sent this thread here: a sync view of a web process, or `in_thread`. None in a Celery process."""
    loop: asyncio.AbstractEventLoop | None = getattr(SyncToAsync.threadlocal, "main_event_loop", None)
    return loop if loop is not None and loop.is_running() else None


@lru_cache(maxsize=1)
def background_loop() -> asyncio.AbstractEventLoop:
    """An event loop in a thread of its own, started at first use, so that pools and tasks outlive one call."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="adk background loop", daemon=True).start()
    return loop
