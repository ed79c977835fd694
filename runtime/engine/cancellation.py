"""Cancelling an invocation: its stream ends at the next await, and events record the cancellation (contract R2).

`cancel` cancels the asyncio task that waits for the next event, so the `CancelledError` reaches model call and tools.
The task belongs to the caller of `run_async`, though, and has to commit the closing events and continue. So the run
catches the error and takes back its own request by `Task.uncancel`. Three cancellations must not be confused:

    requested by `cancel`            swallowed here; the stream ends
    requested by somebody else       raised as CancelledError: the caller's task ends
    not requested (a stray error)    raised as StrayCancellationError: the invocation fails

A cancelled or crashed invocation may leave calls without a response. They are sealed: a later resume would run them
again, and models refuse contents with unanswered calls.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import AbstractContextManager, aclosing, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from runtime import types
from runtime._tasks import PASSED_ON, base_exception_error, stray_cancellation_error
from runtime.context import InvocationContext
from runtime.events.calls import (
    FRAMEWORK_CALLS,
    CallFailure,
    events_of_invocation,
    id_of_requested_call,
    made_calls,
)
from runtime.events.event import Event
from runtime.events.event_actions import EventActions

SEAL_REASON = "The call was stopped; it may have had effects."

T = TypeVar("T")


def seal_events(events: Sequence[Event], invocation_id: str, reason: str) -> list[Event]:
    """Return events to answer the open calls of an invocation as interrupted, grouped by the event of the calls.

    Long-running calls stay open: their response comes from outside.
    """
    # Several events have open calls if parallel agents ran.
    open_calls: dict[int, tuple[Event, list[types.FunctionCall]]] = {}
    for made in made_calls(events_of_invocation(events, invocation_id)):
        if not (made.answers or made.is_long_running or made.call.name in FRAMEWORK_CALLS):
            _, calls = open_calls.setdefault(id(made.event), (made.event, []))
            calls.append(made.call)
    sealed = []
    for event, calls in open_calls.values():
        sealed.append(_failure_event(event, calls, CallFailure.INTERRUPTED, reason))
    return sealed


def seal_waiting_calls(events: Sequence[Event], invocation_id: str, reason: str) -> list[Event]:
    """Return events to answer the pending calls of the invocation as stopped, one for each call."""
    made_here = made_calls(events_of_invocation(events, invocation_id))
    calls_by_id = {made.call.id: made.call for made in made_here}
    sealed = []
    for made in made_here:
        if not made.is_pending:
            continue
        calls = [made.call]
        asked_about = calls_by_id.get(id_of_requested_call(made.call))
        # Models never see the framework's question, so the call that it is about has to be answered as well.
        if asked_about and made.call.name in FRAMEWORK_CALLS:
            calls.append(asked_about)
        sealed.append(_failure_event(made.event, calls, CallFailure.STOPPED, reason))
    return sealed


def interrupted_event(
    author: str, invocation_id: str, text: str = "", *, thought: bool = False, branch: str | None = None
) -> Event:
    """Return an event marked `interrupted` with the text streamed so far; without text, an event without content."""
    content = None
    if text:
        content = types.Content(role="model", parts=[types.Part(text=text, thought=thought or None)])
    return Event(author=author, invocation_id=invocation_id, branch=branch, content=content, interrupted=True)


def _failure_event(
    made_in: Event, calls: Sequence[types.FunctionCall], failure: CallFailure, reason: str
) -> Event:
    """Return an event to answer calls of the event `made_in` as failed."""
    parts = []
    for call in calls:
        response = types.FunctionResponse(id=call.id, name=call.name, response=failure.response(reason))
        parts.append(types.Part(function_response=response))
    return Event(
        author=made_in.author,
        invocation_id=made_in.invocation_id,
        branch=made_in.branch,
        content=types.Content(role="user", parts=parts),
        actions=EventActions(),
    )


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

    def closing_events(self, ctx: InvocationContext) -> list[Event]:
        """Return the events to record the cancellation: partial texts, and responses to open calls."""
        events = []
        for streamed in self._streamed_texts.values():
            text = "".join(streamed.pieces)
            events.append(interrupted_event(streamed.author, ctx.invocation_id, text, branch=streamed.branch))
        events += seal_events(ctx.session.events, ctx.invocation_id, SEAL_REASON)
        # Without a text nothing would mark the invocation as interrupted.
        if not self._streamed_texts:
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
