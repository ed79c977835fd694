"""Exceptions that end an invocation: their error event, and the plugins that are told (contract L5, C4)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from runtime.context import InvocationContext
from runtime.engine.build_events import failure_event
from runtime.events.event import Event

Events = AsyncGenerator[Event, None]


def with_failure_event(ctx: InvocationContext, stream: Events) -> Events:
    """Yield the agents' events; before an exception of the agents is raised, yield an error event."""

    async def failure(error: Exception) -> Event | None:
        if not ctx.run_config.records_failure:
            return None
        authors = (event.author for event in reversed(ctx.events()) if event.author != "user")
        return failure_event(ctx, next(authors, ctx.agent.name), error)

    return _before_exceptions(failure, stream)


def with_told_plugins(ctx: InvocationContext, stream: Events) -> Events:
    """Yield the events of an invocation; tell the plugins of an exception that ends the invocation (contract C4)."""

    async def tell_plugins(error: Exception) -> None:
        if ctx.plugin_manager:
            await ctx.plugin_manager.tell("on_run_error_callback", invocation_context=ctx, error=error)

    return _before_exceptions(tell_plugins, stream)


async def _before_exceptions(react: Callable[[Exception], Awaitable[Event | None]], stream: Events) -> Events:
    """Yield the events; before an exception is raised, await `react`, and yield its event if there is one."""
    try:
        async with aclosing(stream) as events:
            async for event in events:
                yield event
    except Exception as error:
        if last := await react(error):
            yield last
        raise
