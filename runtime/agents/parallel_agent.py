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
    """Runs all sub-agents concurrently, each on a branch where it does not see the events of the others.

    Events are yielded as they arrive; a sub-agent continues once its event is committed. A failure of one sub-agent
    cancels the others.
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
