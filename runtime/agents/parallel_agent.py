"""ParallelAgent: runs its sub-agents concurrently (contract A5, Q9, R1)."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from runtime._tasks import merge
from runtime.agents.base_agent import BaseAgent
from runtime.context import InvocationContext
from runtime.engine.cancellation import SEAL_REASON
from runtime.engine.seal import seal_events
from runtime.events.event import Event, child_of


class ParallelAgent(BaseAgent):
    """Runs all sub-agents concurrently, each on a branch where it does not see the events of the others.

    Events are yielded as they arrive; a sub-agent continues once its event is committed. A failure of one sub-agent
    cancels the others. An escalation of a sub-agent stops all of them; an agent below a sub-agent escalates to the
    workflow agent that runs it.
    """

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        # The escalation may have been committed before the interruption; it is not yielded again.
        escalated = ctx.resuming and any(map(self._is_escalation, ctx.events()))
        if not escalated:
            async with aclosing(merge(self._open_streams(ctx))) as events:
                async for event in events:
                    yield event
                    if self._is_escalation(event):
                        escalated = True
                        break
        if escalated:
            for event in self._responses_of_stopped_calls(ctx):
                yield event

    def _open_streams(self, ctx: InvocationContext) -> dict[str, AsyncGenerator[Event, None]]:
        streams = {}
        for agent in self.sub_agents:
            if not ctx.has_ended(agent):
                branch = child_of(ctx.branch, self.name, agent.name)
                streams[f"Agent {agent.name!r}"] = agent.run_async(ctx.on_branch(branch))
        return streams

    def _is_escalation(self, event: Event) -> bool:
        if not event.actions.escalate or event.partial:
            return False
        return any(agent.name == event.author for agent in self.sub_agents)

    def _responses_of_stopped_calls(self, ctx: InvocationContext) -> list[Event]:
        """Return events to answer the calls that the stopped agents have left open."""
        branches = child_of(ctx.branch, self.name, "")
        events = [event for event in ctx.events() if (event.branch or "").startswith(branches)]
        return seal_events(events, ctx.invocation_id, SEAL_REASON)
