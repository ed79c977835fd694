"""Cancelling an invocation: its stream ends at the next await, and events record the cancellation (contract R2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import AbstractContextManager, aclosing, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from runtime._tasks import PASSED_ON, base_exception_error, stray_cancellation_error
from runtime.context import InvocationContext
from runtime.engine.seal import interrupted_event, seal_events
from runtime.events.event import Event

SEAL_REASON = "The call was stopped; it may have had effects."

T = TypeVar("T")


@dataclass
class _StreamedText:
    """Text of the partial events of an event that is not complete yet."""

    author: str
    branch: str | None
    pieces: list[str] = field(default_factory=list)


class CancellableRun:
    """An invocation that `cancel` can end while it runs or waits for its session.

    Attributes:
        invocation_id: None until the id is known.
        is_cancelled: True once `cancel` was called.
    """

    def __init__(self, invocation_id: str | None) -> None:
        self.invocation_id = invocation_id
        self.is_cancelled = False
        self._waiting_task: asyncio.Task[object] | None = None
        self._has_cancelled_task = False
        self._streamed_texts: dict[str, _StreamedText] = {}

    def cancel(self) -> None:
        """End the stream. Model call and tools get a `CancelledError` at their current await."""
        if not self.is_cancelled:
            self.is_cancelled = True
            if self._waiting_task is not None:
                self._has_cancelled_task = self._waiting_task.cancel()

    async def await_unless_cancelled(self, awaitable: Awaitable[T]) -> T | None:
        """Return the awaited result, or None when `cancel` interrupted the wait.

        Any other cancellation of the task is raised as `CancelledError`.

        Raises:
            StrayCancellationError: the awaitable ended in a cancellation that nobody requested.
            BaseExceptionError: the awaitable raised a `BaseException` that is no `Exception`.
        """
        task = self._waiting_task = asyncio.current_task()
        count_before = task.cancelling() if task else 0
        result: T | None = None
        cancelled: asyncio.CancelledError | None = None
        try:
            result = await awaitable
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException as error:
            if isinstance(error, PASSED_ON):
                raise
            raise base_exception_error(f"Invocation {self.invocation_id!r}", error) from error
        finally:
            was_cancelled_here = self._has_cancelled_task
            if was_cancelled_here:
                await self._undo_task_cancellation()
            self._waiting_task = None
        if task and task.cancelling() > count_before:
            raise cancelled or asyncio.CancelledError
        if cancelled and not was_cancelled_here:
            raise stray_cancellation_error(f"Invocation {self.invocation_id!r}") from cancelled
        return result

    async def events(
        self, stream: AsyncGenerator[Event, None], scope: AbstractContextManager[None]
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of the stream; `cancel` ends it without an exception.

        The code of the stream runs within the `scope`, the consumer of the events outside of it.
        """
        async with aclosing(stream):
            while not self.is_cancelled:
                with scope:
                    event = await self.await_unless_cancelled(anext(stream, None))
                if event is None:
                    return
                self._record_text(event)
                yield event

    def closing_events(self, ctx: InvocationContext) -> list[Event]:
        """Return the events that record the cancellation: the partial text, and responses for open calls."""
        events = []
        for streamed in self._streamed_texts.values():
            text = "".join(streamed.pieces)
            events.append(interrupted_event(streamed.author, ctx.invocation_id, text, branch=streamed.branch))
        events += seal_events(ctx.session.events, ctx.invocation_id, SEAL_REASON)
        if not self._streamed_texts:
            events.append(interrupted_event(ctx.agent.name, ctx.invocation_id))
        return events

    async def _undo_task_cancellation(self) -> None:
        """Take back the cancellation that `cancel` requested: the task itself continues."""
        self._has_cancelled_task = False
        if self._waiting_task is not None:
            self._waiting_task.uncancel()
        # A task that was not waiting when cancelled gets its CancelledError at the next await: this one.
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)

    def _record_text(self, event: Event) -> None:
        """Keep the text of partial events until the complete event with the same id arrives."""
        if not event.partial:
            self._streamed_texts.pop(event.id, None)
            return
        text = event.text()
        if text:
            if event.id not in self._streamed_texts:
                self._streamed_texts[event.id] = _StreamedText(event.author, event.branch)
            self._streamed_texts[event.id].pieces.append(text)
