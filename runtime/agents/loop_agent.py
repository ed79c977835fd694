"""LoopAgent: runs its sub-agents repeatedly until an escalation (contract A5, Q9, R1)."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from runtime.agents.base_agent import BaseAgent, BaseAgentState
from runtime.context import InvocationContext
from runtime.engine.resume.agent_progress import has_escalated
from runtime.events.event import Event


class LoopAgentState(BaseAgentState):
    """Running sub-agent and number of complete rounds."""

    current_sub_agent: str = ""
    times_looped: int = 0


class LoopAgent(BaseAgent):
    """Runs the sub-agents in order, round after round.

    Attributes:
        max_iterations: number of rounds; None: until a sub-agent escalates.
    """

    max_iterations: int | None = None

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        state = self._load_agent_state(ctx, LoopAgentState) or LoopAgentState()
        resumed_at = state.current_sub_agent
        round_number = state.times_looped
        while self.sub_agents and (self.max_iterations is None or round_number < self.max_iterations):
            for agent in self._sub_agents_from(resumed_at):
                is_resumed = agent.name == resumed_at
                resumed_at = ""
                # Recorded before the sub-agent runs: the state also restarts the agents below, for the new round.
                if ctx.is_resumable and not is_resumed:
                    position = LoopAgentState(current_sub_agent=agent.name, times_looped=round_number)
                    ctx.set_agent_state(self.name, agent_state=position)
                    yield self._create_agent_state_event(ctx)
                # The escalation may have been committed before the interruption; it is not yielded again.
                escalated = is_resumed and has_escalated(ctx)
                below = ctx if is_resumed else ctx.without_resuming()
                async with aclosing(agent.run_async(below)) as events:
                    async for event in events:
                        escalated = escalated or bool(event.actions.escalate and not event.partial)
                        yield event
                if escalated or ctx.is_paused(agent):
                    return
            round_number += 1

    def _sub_agents_from(self, name: str) -> list[BaseAgent]:
        """Return the named sub-agent and all later sub-agents; all of them if none has the name."""
        # The app may have changed since the state was recorded.
        names = [agent.name for agent in self.sub_agents]
        if name in names:
            return self.sub_agents[names.index(name) :]
        return self.sub_agents
