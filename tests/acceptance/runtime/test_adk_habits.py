"""Contract A5, Q9, T3: undocumented attributes and methods that agents and tools written for ADK use."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from runtime.agents import BaseAgent, InvocationContext, LlmAgent
from runtime.events import Event
from runtime.tools import ToolContext
from tests.fakes import ScriptedModel, call, requests_of
from tests.unit.runtime.conversation import Conversation


class BranchingAgent(BaseAgent):
    """Runs its sub-agents in sequence, each on its own branch."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        for agent in self.sub_agents:
            branch_context = ctx.model_copy(update={"branch": f"{self.name}.{agent.name}"})
            assert branch_context.session is ctx.session and ctx.model_copy() == ctx
            async with aclosing(agent.run_async(branch_context)) as events:
                async for event in events:
                    yield event


async def test_an_invocation_context_can_be_copied_to_run_a_sub_agent_on_a_branch() -> None:
    first, second = (LlmAgent(name=name, model=ScriptedModel(turns=[name])) for name in ("first", "second"))
    events = await Conversation(BranchingAgent(name="fork", sub_agents=[first, second])).say("go")
    assert [(event.text(), event.branch) for event in events] == [
        ("first", "fork.first"),
        ("second", "fork.second"),
    ]
    assert len(requests_of(second)[0].contents) == 1


async def test_a_tool_can_read_the_invocation_context_from_its_own() -> None:
    seen = []

    async def look(tool_context: ToolContext) -> None:
        """Look at the invocation."""
        ctx = tool_context._invocation_context
        seen.append((ctx.session.id, ctx.user_id, ctx.app_name, ctx.agent.name, ctx.artifact_service))

    conversation = Conversation(
        LlmAgent(name="clerk", model=ScriptedModel(turns=[call("look"), "end"]), tools=[look])
    )
    await conversation.say("go")
    session = await conversation.session()
    assert seen == [(session.id, "ada", "shop", "clerk", conversation.runner.artifact_service)]
