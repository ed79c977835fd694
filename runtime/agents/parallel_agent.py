"""ParallelAgent: runs its sub-agents concurrently (contract A5, Q9, R1)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from runtime._tasks import merge
from runtime.agents.base_agent import BaseAgent
from runtime.context import InvocationContext
from runtime.events.branch import child_of
from runtime.events.event import Event


class ParallelAgent(BaseAgent):
    """Runs each sub-agent on its own branch, where it does not see the events of the others.

    Events are yielded as they come; a sub-agent continues when its own event was committed. A failure of one
    sub-agent cancels the others.
    """

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        streams = {
            f"Agent {agent.name!r}": agent.run_async(
                ctx.on_branch(child_of(ctx.branch, self.name, agent.name))
            )
            for agent in self.sub_agents
            if not ctx.has_ended(agent)
        }
        async with aclosing(merge(streams)) as events:
            async for event in events:
                yield event
