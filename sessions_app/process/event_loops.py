"""Help with event loops: a value for each loop, such as a connection pool, and a wait with a time limit."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


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
