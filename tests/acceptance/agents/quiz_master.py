"""A quiz without a model that decides: a custom agent asks, counts and tells the score."""

from collections.abc import AsyncGenerator

from google.genai import types

from runtime.agents import BaseAgent, InvocationContext, LlmAgent
from runtime.events import Event, EventActions

MODEL = "gemini-2.5-flash"
QUESTIONS = [("Capital of France?", "paris"), ("2 + 2?", "4")]


class QuizMaster(BaseAgent):
    """Asks the questions in order; after the last, the commentator has a word on the score."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        asked, score = ctx.session.state.get("asked", 0), ctx.session.state.get("score", 0)
        if asked:
            said = ctx.user_content.parts[0].text if ctx.user_content and ctx.user_content.parts else ""
            score += QUESTIONS[asked - 1][1] in (said or "").lower()
        if asked < len(QUESTIONS):
            yield self._say(ctx, QUESTIONS[asked][0], {"asked": asked + 1, "score": score})
            return
        yield self._say(ctx, f"{score} of {asked}.", {"asked": 0, "score": 0, "last_score": score})
        async for event in self.sub_agents[0].run_async(ctx):
            yield event

    def _say(self, ctx: InvocationContext, text: str, state: dict[str, int]) -> Event:
        content = types.Content(role="model", parts=[types.Part(text=text)])
        return Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            content=content,
            actions=EventActions(state_delta=state),
        )


commentator = LlmAgent(name="commentator", model=MODEL, instruction="Comment on a score of {last_score}.")
root_agent = QuizMaster(name="quiz", sub_agents=[commentator])
