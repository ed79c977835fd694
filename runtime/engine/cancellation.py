"""Cancelling an invocation: its stream ends at the next await, and events record the cancellation (contract R2).

`cancel` cancels the asyncio task that waits for the next event, so the `CancelledError` reaches model call and tools.
The task belongs to the caller of `run_async`, though, and has to commit the closing events and continue. So the run
catches the error and takes back its own request by `Task.uncancel`. Three cancellations must not be confused:

    requested by `cancel`            swallowed here; the stream ends
    requested by somebody else       raised as CancelledError: the caller's task ends
    not requested (a stray error)    raised as StrayCancellationError: the invocation fails
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
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
    author: str
    branch: str | None
    pieces: list[str] = field(default_factory=list)


class CancellableRun:
    """An invocation that `cancel` can end while it runs or waits for its session.

    Attributes:
        invocation_id: None until the id is known.
        is_cancelled: True after a call of `cancel`.
    """

    def __init__(self, invocation_id: str | None) -> None:
        self.invocation_id = invocation_id
        self.is_cancelled = False
        self._waiting_task: asyncio.Task[object] | None = None
        self._has_cancelled_task = False
        self._streamed_texts: dict[str, _StreamedText] = {}

    def cancel(self) -> None:
        """End the stream; raise a `CancelledError` in model call and tools at their current await."""
        if not self.is_cancelled:
            self.is_cancelled = True
            # Without a waiting task the consumer handles an event; `events` stops before it asks for the next one.
            if self._waiting_task is not None:
                self._has_cancelled_task = self._waiting_task.cancel()

    async def await_unless_cancelled(self, awaitable: Awaitable[T]) -> T | None:
        """Return the awaited result, or None if `cancel` interrupted the wait.

        Raises:
            CancelledError: somebody else cancelled the task.
            StrayCancellationError: the awaitable ended in an unrequested cancellation.
            BaseExceptionError: the awaitable raised another `BaseException`, such as a `SystemExit`.
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
        # A request remains after our own was taken back: somebody else cancels the task, too.
        if task and task.cancelling() > count_before:
            raise cancelled or asyncio.CancelledError
        if cancelled and not was_cancelled_here:
            raise stray_cancellation_error(f"Invocation {self.invocation_id!r}") from cancelled
        return result

    async def events(
        self, stream: AsyncGenerator[Event, None], scope: AbstractContextManager[None]
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of the stream; `cancel` ends it without an exception.

        Args:
            scope: context manager to enter whenever the stream runs; the consumer of the events runs outside of it.
        """
        async with aclosing(stream):
            while not self.is_cancelled:
                with scope:
                    event = await self.await_unless_cancelled(anext(stream, None))
                if event is None:
                    return
                self._record_text(event)
                yield event

    def closing_events(self, ctx: InvocationContext, stored: Sequence[Event]) -> list[Event]:
        """Return the events to record the cancellation: partial texts, and responses to open calls.

        Args:
            stored: the session's events as they are stored now; `ctx` may lack the last one.
        """
        stored_ids = {event.id for event in stored}
        events: list[Event] = []
        for event_id, streamed in self._streamed_texts.items():
            if event_id not in stored_ids:
                text = "".join(streamed.pieces)
                events.append(
                    interrupted_event(streamed.author, ctx.invocation_id, text, branch=streamed.branch)
                )
        has_text = bool(events)
        events += seal_events(stored, ctx.invocation_id, SEAL_REASON)
        # Without a text nothing would mark the invocation as interrupted.
        if not has_text:
            events.append(interrupted_event(ctx.agent.name, ctx.invocation_id))
        return events

    async def _undo_task_cancellation(self) -> None:
        """Take back the request of `cancel`, so the task itself continues."""
        self._has_cancelled_task = False
        if self._waiting_task is not None:
            self._waiting_task.uncancel()
        # A task that was not waiting when cancelled gets its CancelledError at the next await: this one.
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)

    def _record_text(self, event: Event) -> None:
        """Keep the text of partial events until the whole event with the same id arrives."""
        if not event.partial:
            self._streamed_texts.pop(event.id, None)
            return
        text = event.text()
        if text:
            if event.id not in self._streamed_texts:
                self._streamed_texts[event.id] = _StreamedText(event.author, event.branch)
            self._streamed_texts[event.id].pieces.append(text)
