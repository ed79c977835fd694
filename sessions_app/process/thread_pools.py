"""Thread pools of a process, a pool for each kind of blocking call: no kind waits for another."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async

from sessions_app.conf import conf

P = ParamSpec("P")
T = TypeVar("T")


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
