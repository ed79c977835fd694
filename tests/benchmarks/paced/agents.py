"""The agent. Each word is the time at which the model gave it, so that a reader can tell how old it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import BaseLlm, LlmRequest, LlmResponse

CHUNKS = 50
SECONDS_BETWEEN = 0.02


class PacedModel(BaseLlm):
    """Gives `CHUNKS` words, then the whole."""

    model: str = "paced"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        words = []
        due = time.perf_counter()
        for _ in range(CHUNKS):
            due += SECONDS_BETWEEN
            await asyncio.sleep(due - time.perf_counter())
            words.append(f"{time.time():.6f} ")
            yield LlmResponse(content=_content(words[-1]), partial=True)
        yield LlmResponse(content=_content("".join(words)))


def _content(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


app = App(name="paced", root_agent=LlmAgent(name="paced", model=PacedModel()))
