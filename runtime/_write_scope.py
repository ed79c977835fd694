"""Write scope: the sessions whose invocations the current code is part of.

An invocation is the only writer of its session until it ends, so code inside it would wait forever for the session.
A task that such code starts by itself is not part of the invocation, and may wait.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import ref

SessionKey = tuple[object, str, str, str]
"""Session service, app name, user id, session id."""


class _WriteScope(NamedTuple):
    """Sessions that `task` writes to. Stored with the task because child tasks inherit context variables.

    The reference is weak: a task holds its context variables, and would hold itself.
    """

    task: ref[asyncio.Task[Any]] | None = None
    sessions: tuple[SessionKey, ...] = ()


_NO_SCOPE = _WriteScope()
_current_scope: ContextVar[_WriteScope] = ContextVar("write_scope", default=_NO_SCOPE)


def is_writing(session: SessionKey) -> bool:
    """True when the caller is part of an invocation of the session."""
    scope = _current_scope.get()
    return session in scope.sessions and scope.task == _current_task()


class WritingTo:
    """Context manager whose block is in the session's write scope. It can be entered again after its end."""

    def __init__(self, session: SessionKey) -> None:
        self._session = session
        self._outer = _NO_SCOPE

    def __enter__(self) -> None:
        outer = _current_scope.get()
        task = _current_task()
        self._outer = outer
        _current_scope.set(
            _WriteScope(task, (*(outer.sessions if outer.task == task else ()), self._session))
        )

    def __exit__(self, *error: object) -> None:
        _current_scope.set(self._outer)


def adopt_write_scope() -> None:
    """Make the current task part of its parent's write scope; call first in a task that does the parent's work."""
    scope = _current_scope.get()
    if scope.sessions:
        _current_scope.set(scope._replace(task=_current_task()))


def _current_task() -> ref[asyncio.Task[Any]] | None:
    """Return a reference to the current task; references to one task are equal."""
    task = asyncio.current_task()
    return ref(task) if task else None
