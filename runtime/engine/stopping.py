"""Stopping an invocation from outside: its stream ends at the next await, and the stop is recorded (spec R2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from runtime.context import InvocationContext
from runtime.engine.abort import interrupted_event, seal_events
from runtime.events.event import Event

REASON = "The call was stopped; it may have had effects."


class Stoppable:
    """The events of one invocation, for as long as nobody stops it."""

    def __init__(self) -> None:
        self.is_stopped = False
        self._waiting: asyncio.Task[object] | None = None
        self._texts: dict[str, tuple[str, str]] = {}

    def stop(self) -> None:
        """End the stream: model call and tools are cancelled where they await."""
        if not self.is_stopped:
            self.is_stopped = True
            if self._waiting is not None:
                self._waiting.cancel()

    async def events(self, stream: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """Pass the stream on. A stop ends it without an exception; any other cancellation comes out."""
        task = asyncio.current_task()
        try:
            async with aclosing(stream):
                while not self.is_stopped:
                    self._waiting = task = asyncio.current_task()
                    try:
                        event = await anext(stream)
                    except StopAsyncIteration:
                        return
                    finally:
                        self._waiting = None
                    self._keep_text(event)
                    yield event
        except asyncio.CancelledError:
            if not self.is_stopped or task is None:
                raise
            task.uncancel()

    def closing_events(self, ctx: InvocationContext) -> list[Event]:
        """What records the stop: the text that had come, and answers for the calls left open."""
        said = [interrupted_event(author, ctx.invocation_id, text) for author, text in self._texts.values()]
        seals = seal_events(ctx.session.events, ctx.invocation_id, REASON)
        return [*said, *seals] if said else [*seals, interrupted_event(ctx.agent.name, ctx.invocation_id)]

    def _keep_text(self, event: Event) -> None:
        """Remember what streams until the event comes that holds the whole."""
        if not event.partial:
            self._texts.pop(event.id, None)
        elif text := event.text():
            known = self._texts.get(event.id, ("", ""))[1]
            self._texts[event.id] = (event.author, known + text)
