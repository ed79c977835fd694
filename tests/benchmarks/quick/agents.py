"""The agent: twenty words, one after the other, without a pause."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import BaseLlm, LlmRequest, LlmResponse

WORDS = [f"word{number} " for number in range(20)]


class QuickModel(BaseLlm):
    """Gives words, then the whole."""

    model: str = "quick"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for word in WORDS:
            await asyncio.sleep(0)
            yield LlmResponse(content=_content(word), partial=True)
        yield LlmResponse(content=_content("".join(WORDS)))


def _content(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


app = App(name="quick", root_agent=LlmAgent(name="quick", model=QuickModel()))
