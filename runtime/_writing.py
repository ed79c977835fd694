"""Which sessions the code that runs here is part of writing to.

An invocation is the one writer of its session until it ends: what it runs cannot wait for the session. A task that such
code starts by itself is no part of it, and may wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

SessionKey = tuple[object, str, str, str]
"""The session service, then app, user and session."""


class _Here(NamedTuple):
    """The sessions that are written to, and the task that is part of it: other tasks inherit the variable, too."""

    task: asyncio.Task[Any] | None = None
    sessions: tuple[SessionKey, ...] = ()


_NOWHERE = _Here()
_here: ContextVar[_Here] = ContextVar("writing", default=_NOWHERE)


def is_writing(session: SessionKey) -> bool:
    """Whether the code that asks is part of an invocation of the session."""
    here = _here.get()
    return session in here.sessions and here.task is asyncio.current_task()


async def while_writing(session: SessionKey, stream: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The stream, whose code is part of writing to the session. Who reads the stream is not."""
    async with aclosing(stream):
        while True:
            before, task = _here.get(), asyncio.current_task()
            _here.set(_Here(task, (*(before.sessions if before.task is task else ()), session)))
            try:
                item = await anext(stream)
            except StopAsyncIteration:
                return
            finally:
                _here.set(before)
            yield item


def go_on_in_this_task() -> None:
    """Called first in a task that does a part of what the task that made it does."""
    here = _here.get()
    if here.sessions:
        _here.set(here._replace(task=asyncio.current_task()))
