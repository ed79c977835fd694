"""Stopping an invocation from outside: its stream ends at the next await, and the stop is recorded (spec R2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TypeVar

from runtime._tasks import cancellations, stray_cancellation
from runtime.context import InvocationContext
from runtime.engine.abort import interrupted_event, seal_events
from runtime.events.event import Event

REASON = "The call was stopped; it may have had effects."

T = TypeVar("T")


@dataclass
class _Speech:
    """What an agent has said of an event that is still to come whole."""

    author: str
    branch: str | None
    text: str = ""


class Stoppable:
    """An invocation that runs or waits for its session, for as long as nobody stops it.

    Attributes:
        invocation_id: None while it is not known yet.
    """

    def __init__(self, invocation_id: str | None) -> None:
        self.invocation_id = invocation_id
        self.is_stopped = False
        self._waiting: asyncio.Task[object] | None = None
        self._has_cancelled = False
        self._speeches: dict[str, _Speech] = {}

    def stop(self) -> None:
        """End the stream: model call and tools are cancelled where they await."""
        if not self.is_stopped:
            self.is_stopped = True
            if self._waiting is not None:
                self._has_cancelled = self._waiting.cancel()

    async def unless_stopped(self, coming: Awaitable[T]) -> T | None:
        """What comes; None when a stop kept it from coming. Any other cancellation comes out.

        Raises:
            StrayCancellationError: what is awaited here ended in a cancellation that nobody asked for.
        """
        before = cancellations()
        came: T | None = None
        cancelled: asyncio.CancelledError | None = None
        self._waiting = asyncio.current_task()
        try:
            came = await coming
        except asyncio.CancelledError as error:
            cancelled = error
        finally:
            was_stopped = self._has_cancelled
            if was_stopped:
                await self._take_back()
            self._waiting = None
        if cancellations() > before:
            raise cancelled or asyncio.CancelledError
        if cancelled and not was_stopped:
            raise stray_cancellation(f"Invocation {self.invocation_id!r}") from cancelled
        return came

    async def events(self, stream: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """Pass the stream on. A stop ends it without an exception."""
        async with aclosing(stream):
            while not self.is_stopped:
                event = await self.unless_stopped(anext(stream, None))
                if event is None:
                    return
                self._keep_text(event)
                yield event

    def closing_events(self, ctx: InvocationContext) -> list[Event]:
        """What records the stop: the text that had come, and answers for the calls left open."""
        said = [
            interrupted_event(speech.author, ctx.invocation_id, speech.text, branch=speech.branch)
            for speech in self._speeches.values()
        ]
        seals = seal_events(ctx.session.events, ctx.invocation_id, REASON)
        return [*said, *seals] if said else [*seals, interrupted_event(ctx.agent.name, ctx.invocation_id)]

    async def _take_back(self) -> None:
        """Undo what the stop did to the task, which goes on: its cancellation, and only this one."""
        self._has_cancelled = False
        if self._waiting is not None:
            self._waiting.uncancel()
        with suppress(
            asyncio.CancelledError
        ):  # of a task that was not waiting: it comes at the next await, this one
            await asyncio.sleep(0)

    def _keep_text(self, event: Event) -> None:
        """Remember what streams until the event comes that holds the whole."""
        if not event.partial:
            self._speeches.pop(event.id, None)
        elif text := event.text():
            speech = self._speeches.setdefault(event.id, _Speech(event.author, event.branch))
            speech.text += text
