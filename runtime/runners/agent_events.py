"""Events of an invocation's agents: the choice of the agent, and the error event of an exception (contract L5, C4)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from runtime.agents.base_agent import BaseAgent
from runtime.agents.routing import route_message, route_resume
from runtime.context import InvocationContext
from runtime.engine.build_events import agent_event, failure_event
from runtime.events.event import Event
from runtime.plugins.plugin_manager import PluginManager


async def agent_events(
    root: BaseAgent, ctx: InvocationContext, plugins: PluginManager
) -> AsyncGenerator[Event, None]:
    """Yield the events of the chosen agent, or of the plugin that replies in its place.

    Before an exception is raised, its error event is yielded, unless the caller of the run records failures itself.
    """
    try:
        if ctx.resuming:
            began = route_message(root, ctx.session.events[: ctx.scope.begins_at + 1])
            ctx.agent = route_resume(root, began, ctx.events())
        else:
            ctx.agent = route_message(root, ctx.session.events)
        reply = await plugins.ask("before_run_callback", invocation_context=ctx)
        if reply is not None:
            yield agent_event(ctx, reply)
            return
        async with aclosing(ctx.agent.run_async(ctx)) as events:
            async for event in events:
                yield event
    except Exception as error:
        if ctx.run_config.records_failure:
            authors = (event.author for event in reversed(ctx.events()) if event.author != "user")
            yield failure_event(ctx, next(authors, ctx.agent.name), error)
        raise
