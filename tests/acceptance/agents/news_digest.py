"""A digest that takes one headline after the other from the state until none is left."""

from collections.abc import AsyncGenerator

from runtime.agents import BaseAgent, InvocationContext, LlmAgent, LoopAgent, SequentialAgent
from runtime.events import Event, EventActions

MODEL = "gemini-2.5-flash"


class NextHeadline(BaseAgent):
    """Takes a headline off the list, or ends the loop."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        first, *rest = ctx.session.state.get("headlines") or [None]
        actions = EventActions(state_delta={"headline": first, "headlines": rest}, escalate=first is None)
        yield Event(author=self.name, invocation_id=ctx.invocation_id, actions=actions)


class Collect(BaseAgent):
    """Adds the summary to the digest."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        digest = [*ctx.session.state.get("digest", []), ctx.session.state["summary"]]
        yield Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            actions=EventActions(state_delta={"digest": digest}),
        )


summarizer = LlmAgent(
    name="summarizer",
    model=MODEL,
    include_contents="none",
    instruction="Sum up in five words: {headline}",
    output_key="summary",
)
editor = LlmAgent(name="editor", model=MODEL, include_contents="none", instruction="Introduce: {digest}")
loop = LoopAgent(name="each", sub_agents=[NextHeadline(name="next"), summarizer, Collect(name="collect")])
root_agent = SequentialAgent(name="digest", sub_agents=[loop, editor])
