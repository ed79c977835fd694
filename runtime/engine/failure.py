"""Exceptions that end an invocation: their error event, and the plugins that are told (contract L5, C4)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from runtime.context import InvocationContext
from runtime.engine.build_events import failure_event
from runtime.events.event import Event


async def with_failure_event(
    ctx: InvocationContext, stream: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    """Yield the agents' events; before an exception of the agents is raised, yield an error event."""
    try:
        async with aclosing(stream) as events:
            async for event in events:
                yield event
    except Exception as error:
        if not ctx.run_config.records_failure:
            raise
        authors = (event.author for event in reversed(ctx.events()) if event.author != "user")
        yield failure_event(ctx, next(authors, ctx.agent.name), error)
        raise


async def with_told_plugins(
    ctx: InvocationContext, stream: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    """Yield the events of an invocation; tell the plugins of an exception that ends the invocation (contract C4)."""
    try:
        async with aclosing(stream) as events:
            async for event in events:
                yield event
    except Exception as error:
        if ctx.plugin_manager:
            await ctx.plugin_manager.tell("on_run_error_callback", invocation_context=ctx, error=error)
        raise
