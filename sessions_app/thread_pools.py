"""Thread pools of a process, one for each kind of blocking call, so that no kind waits for another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import ParamSpec, TypeVar

from sessions_app.conf import conf

P = ParamSpec("P")
T = TypeVar("T")


class ThreadPool:
    """Threads for one kind of blocking call; more calls at once wait for a thread.

    Args:
        name: name of the threads.
        setting: the setting of `Conf` with their number, read at first use.
    """

    def __init__(self, name: str, setting: str) -> None:
        self._name = name
        self._setting = setting

    @cached_property
    def executor(self) -> ThreadPoolExecutor:
        """The executor. Its threads start when they are needed, so that a process may fork before the first call."""
        return ThreadPoolExecutor(getattr(conf(), self._setting), thread_name_prefix=self._name)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function in one of the threads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.executor, partial(function, *args, **kwargs))


database_threads = ThreadPool("adk database", "database_threads")
download_threads = ThreadPool("adk downloads", "download_threads")
broker_threads = ThreadPool("adk broker", "broker_threads")
