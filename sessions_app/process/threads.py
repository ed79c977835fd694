"""Bridges between asyncio and threads: ORM code called from asyncio, coroutines run from threads and Celery workers.

A process has several event loops. `LoopLocal` keeps a value for each of them, such as a connection pool.

The only module with internals of asgiref. `_caller_has_thread` prevents a deadlock between two connections of a
request; `calling_loop` prevents a second loop for the channel layer of Redis, which refuses it.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context
from functools import cached_property, lru_cache, partial
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from asgiref.sync import AsyncToSync, SyncToAsync, sync_to_async
from django.db import connections
from django.db.models import Model, QuerySet

from sessions_app.conf import conf

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=Model)

# asyncio holds only weak references to tasks.
_tasks: set[asyncio.Task[Any]] = set()


class LoopLocal(Generic[T]):
    """A value for each event loop, made at first use on the loop.

    A process may have several loops: the server's, the background loop for threads, a loop for each asynchronous test.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        """Return the running loop's value."""
        loop = asyncio.get_running_loop()
        if loop not in self._values:
            # In a new context: the tasks of a value outlive the HTTP request that needed the value first.
            self._values[loop] = Context().run(self._make)
        return self._values[loop]

    def pop(self) -> T | None:
        """Forget and return the running loop's value; None when there is none."""
        return self._values.pop(asyncio.get_running_loop(), None)


async def wait_until_set(event: asyncio.Event, seconds: float) -> bool:
    """Wait up to `seconds` for the event; return True if it was set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ORM code in the thread of the caller's HTTP request or `async_to_sync`, else in a database thread.

    Close unusable and obsolete connections of the thread before and after the code, as Django does for a request.
    """
    call = partial(_with_own_connection, function, *args, **kwargs)
    if _caller_has_thread():
        return await sync_to_async(call, thread_sensitive=True)()
    return await sync_to_async(call, thread_sensitive=False, executor=database_threads.executor)()


async def fetch_rows(rows: QuerySet[M, T]) -> list[T]:
    """Return the rows of a query, read by `in_thread`."""
    return await in_thread(lambda: list(rows))


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop, and wait in this thread for its result.

    Use the loop that started this thread, else the process's background loop.

    The coroutine must not use `in_thread` when this thread is a database thread or holds a connection: callers waiting
    here may have taken all threads and connections.
    """
    # The caller's loop has the hub and the relay of the process: the channel layer of Redis refuses a second loop.
    # A new context, because tasks started by the coroutine may outlive the HTTP request of this thread.
    loop = calling_loop() or background_loop()
    return Context().run(asyncio.run_coroutine_threadsafe, coroutine, loop).result()


def create_task(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Start a task in a new context, and keep it until its end: it may outlive the HTTP request of its caller."""
    # In the caller's context, `in_thread` would use the thread of the request, which may have ended.
    task = asyncio.create_task(work, name=name, context=Context())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task


def _with_own_connection(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    _close_old_connections()
    try:
        return function(*args, **kwargs)
    finally:
        _close_old_connections()


def _close_old_connections() -> None:
    # As Django's `close_old_connections`, except for a connection in a transaction of the caller.
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def _caller_has_thread() -> bool:
    """Return True within an HTTP request and within `async_to_sync`."""
    # The thread of such a caller may hold a connection with locks, for which code on a second connection could wait for
    # ever.
    in_request = SyncToAsync.thread_sensitive_context.get(None) is not None
    return in_request or getattr(AsyncToSync.executors, "current", None) is not None


def calling_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop waiting for this thread (of a synchronous view, or `in_thread`); None in a Celery process."""
    loop: asyncio.AbstractEventLoop | None = getattr(SyncToAsync.threadlocal, "main_event_loop", None)
    return loop if loop is not None and loop.is_running() else None


@lru_cache(maxsize=1)
def background_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of the background thread, started at first use. Its pools and tasks outlive a call."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="adk background loop", daemon=True).start()
    return loop


class ThreadPool:
    """Threads for a kind of blocking call. Calls wait while all threads are busy.

    Args:
        setting: the setting of `Conf` with their number, read at first use.
    """

    def __init__(self, name: str, setting: str) -> None:
        self._name = name
        self._setting = setting

    @cached_property
    def executor(self) -> ThreadPoolExecutor:
        """The executor, made at first use."""
        # A process may fork before the first call; threads do not survive a fork.
        return ThreadPoolExecutor(getattr(conf(), self._setting), thread_name_prefix=self._name)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function in a thread of the pool, in the caller's language and time zone."""
        # asgiref carries language and time zone over; a copied context does not, because Django keeps them by thread.
        call = sync_to_async(function, thread_sensitive=False, executor=self.executor)
        return await call(*args, **kwargs)


database_threads = ThreadPool("adk database", "database_threads")
download_threads = ThreadPool("adk downloads", "download_threads")
limit_threads = ThreadPool("adk limits", "limit_threads")
broker_threads = ThreadPool("adk broker", "broker_threads")
