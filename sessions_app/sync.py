"""Between the two worlds: ORM code from asyncio, asyncio code from Celery's processes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ORM code in Django's thread for it."""
    return await sync_to_async(function, thread_sensitive=True)(*args, **kwargs)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on this process's background loop and wait for it; for processes without a loop."""
    return asyncio.run_coroutine_threadsafe(coroutine, background_loop()).result()


@lru_cache(maxsize=1)
def background_loop() -> asyncio.AbstractEventLoop:
    """An event loop in a thread of its own, started at first use, so that pools and tasks outlive one call."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="adk background loop", daemon=True).start()
    return loop
