"""SequentialAgent: runs its sub-agents one after another (contract A5, R1)."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from runtime.agents.base_agent import BaseAgent, BaseAgentState
from runtime.agents.llm_agent import LlmAgent  # noqa: F401  # programs import it from here
from runtime.context import InvocationContext
from runtime.events.event import Event


class SequentialAgentState(BaseAgentState):
    """Position in the sequence: the running sub-agent."""

    current_sub_agent: str = ""


class SequentialAgent(BaseAgent):
    """Runs each sub-agent once, in order. In a resumable app the sequence pauses with a paused sub-agent."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        state = self._load_agent_state(ctx, SequentialAgentState)
        names = [agent.name for agent in self.sub_agents]
        start = 0
        if state and state.current_sub_agent in names:
            start = names.index(state.current_sub_agent)
        for agent in self.sub_agents[start:]:
            is_resumed = state is not None and agent.name == state.current_sub_agent
            # Recorded before the sub-agent runs: a resume then starts at this place.
            if ctx.is_resumable and not is_resumed:
                ctx.set_agent_state(self.name, agent_state=SequentialAgentState(current_sub_agent=agent.name))
                yield self._create_agent_state_event(ctx)
            below = ctx if is_resumed else ctx.without_resuming()
            async with aclosing(agent.run_async(below)) as events:
                async for event in events:
                    yield event
            if ctx.is_paused(agent):
                return
