"""The agent: `say x` streams words, `note x` calls a tool that writes state, `work x` starts a job."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from runtime.tools import ToolContext
from sessions_app.jobs import job_tool, progress
from tests.fakes import call, model_content, text_content

WORDS = 12


class ObedientModel(BaseLlm):
    """Follows the last thing that was said; slowly enough to be killed in the middle."""

    model: str = "obedient"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        part = (llm_request.contents[-1].parts or [types.Part()])[-1]
        if part.function_response is not None:
            answer = f"result of {part.function_response.name}"
        else:
            verb, _, what = (part.text or "").partition(" ")
            if verb in ("note", "work"):
                yield LlmResponse(content=model_content(call(verb, what=what)))
                return
            answer = f"said {what}"
        words = [answer, *(f"word{number}" for number in range(WORDS))]
        for word in words:
            await asyncio.sleep(0.03)
            yield LlmResponse(content=text_content(f"{word} "), partial=True)
        yield LlmResponse(content=text_content(" ".join(words)))


def note(what: str, tool_context: ToolContext) -> str:
    """Count what was noted, in every scope."""
    for scope in ("", "user:", "app:"):
        tool_context.state[f"{scope}notes"] = tool_context.state.get(f"{scope}notes", 0) + 1
    return what


@job_tool
def work(what: str) -> dict[str, str]:
    """Take a while."""
    for step in range(10):
        time.sleep(0.1)
        progress(step + 1, 10, what)
    return {"worked_on": what}


app = App(name="chaos", root_agent=LlmAgent(name="obedient", model=ObedientModel(), tools=[note, work]))
