"""A custom agent that runs others: a story is written, revised in a loop, checked, and rewritten if the tone is bad."""

from collections.abc import AsyncGenerator
from typing import Any

from runtime.agents import BaseAgent, LlmAgent, LoopAgent, SequentialAgent
from runtime.agents.invocation_context import InvocationContext
from runtime.events import Event

MODEL = "gemini-2.5-flash"


class StoryFlowAgent(BaseAgent):
    """Runs the steps of the story; the state decides on the last step."""

    story_generator: LlmAgent
    loop_agent: LoopAgent
    sequential_agent: SequentialAgent

    def __init__(
        self,
        name: str,
        story_generator: LlmAgent,
        critic: LlmAgent,
        reviser: LlmAgent,
        grammar_check: LlmAgent,
        tone_check: LlmAgent,
    ) -> None:
        loop_agent = LoopAgent(name="CriticReviserLoop", sub_agents=[critic, reviser], max_iterations=2)
        sequential_agent = SequentialAgent(name="PostProcessing", sub_agents=[grammar_check, tone_check])
        fields: dict[str, Any] = {
            "story_generator": story_generator,
            "loop_agent": loop_agent,
            "sequential_agent": sequential_agent,
        }
        sub_agents: list[BaseAgent] = [story_generator, loop_agent, sequential_agent]
        super().__init__(name=name, sub_agents=sub_agents, **fields)

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        async for event in self.story_generator.run_async(ctx):
            yield event
        if not ctx.session.state.get("current_story"):
            return
        async for event in self.loop_agent.run_async(ctx):
            yield event
        async for event in self.sequential_agent.run_async(ctx):
            yield event
        if ctx.session.state.get("tone_check_result") == "negative":
            async for event in self.story_generator.run_async(ctx):
                yield event


story_generator = LlmAgent(
    name="StoryGenerator",
    model=MODEL,
    instruction="Write a story of about 100 words about {topic}.",
    output_key="current_story",
)
critic = LlmAgent(
    name="Critic",
    model=MODEL,
    instruction="Say in a sentence or two how to improve this story: {current_story}",
    output_key="criticism",
)
reviser = LlmAgent(
    name="Reviser",
    model=MODEL,
    instruction="Revise this story: {current_story}\nas this critique says: {criticism}",
    output_key="current_story",
)
grammar_check = LlmAgent(
    name="GrammarCheck",
    model=MODEL,
    instruction="List the grammar mistakes in this story: {current_story}",
    output_key="grammar_suggestions",
)
tone_check = LlmAgent(
    name="ToneCheck",
    model=MODEL,
    instruction="Say 'positive', 'negative' or 'neutral' for the tone of this story: {current_story}",
    output_key="tone_check_result",
)

root_agent = StoryFlowAgent(
    name="StoryFlowAgent",
    story_generator=story_generator,
    critic=critic,
    reviser=reviser,
    grammar_check=grammar_check,
    tone_check=tone_check,
)
