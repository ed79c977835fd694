"""The agent: each answer is a megabyte, in pieces that are told apart by their numbers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import BaseLlm, LlmRequest, LlmResponse

PIECES = [f"{number} " + "x" * 10_000 + "\n" for number in range(100)]


class FloodModel(BaseLlm):
    """Gives a piece whenever those before it have been shown."""

    model: str = "flood"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for piece in PIECES:
            await asyncio.sleep(0.02)
            yield LlmResponse(content=_content(piece), partial=True)
        yield LlmResponse(content=_content("".join(PIECES)))


def _content(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


app = App(name="flood", root_agent=LlmAgent(name="flood", model=FloodModel()))
