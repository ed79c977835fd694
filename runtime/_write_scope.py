"""Write scope: the sessions that the current code writes to, as part of a running invocation.

An invocation is the only writer of its session until it ends. Code within the invocation that asked to write to the
same session would wait for itself, forever; `is_writing` lets the Runner raise an error in place of the deadlock.

The scope belongs to a task. A tool may start a background task that outlives the invocation: this task inherits the
context variable but may wait for the session, so the scope does not count there. The runtime's own child tasks do the
work of the invocation and call `adopt_write_scope` first.
"""

import asyncio
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import ref

SessionKey = tuple[object, str, str, str]
"""Session service, app name, user id, session id."""


class _WriteScope(NamedTuple):
    """Sessions that `task` writes to."""

    # Weak: a task holds its context variables, so a strong reference to the task would be a cycle.
    task: ref[asyncio.Task[Any]] | None = None
    sessions: tuple[SessionKey, ...] = ()


_NO_SCOPE = _WriteScope()
_current_scope: ContextVar[_WriteScope] = ContextVar("write_scope", default=_NO_SCOPE)


def is_writing(session: SessionKey) -> bool:
    """Return True if the caller is part of an invocation of the session."""
    scope = _current_scope.get()
    return session in scope.sessions and scope.task == _current_task()


class WritingTo:
    """Context manager that puts its block into the session's write scope. Can be entered again after its end."""

    def __init__(self, session: SessionKey) -> None:
        self._session = session
        self._outer = _NO_SCOPE

    def __enter__(self) -> None:
        outer = _current_scope.get()
        task = _current_task()
        self._outer = outer
        sessions = outer.sessions if outer.task == task else ()
        _current_scope.set(_WriteScope(task, (*sessions, self._session)))

    def __exit__(self, *error: object) -> None:
        _current_scope.set(self._outer)


def adopt_write_scope() -> None:
    """Make the current task part of its parent's write scope. Call this first in a task that works for its parent."""
    scope = _current_scope.get()
    if scope.sessions:
        _current_scope.set(scope._replace(task=_current_task()))


def _current_task() -> ref[asyncio.Task[Any]] | None:
    # References to the same live task compare equal.
    task = asyncio.current_task()
    return ref(task) if task else None
