"""The working agent: it starts a job for every message, and streams twenty words, 20 ms apart, when the job ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from sessions_app.jobs import job_tool
from tests.fakes import call, model_content, text_content

WORDS = ["counted"] * 20
SECONDS_BETWEEN = 0.02


class ClerkModel(BaseLlm):
    """Model that calls the job tool, acknowledges the queued job, and answers its result."""

    is_scripted: ClassVar[bool] = True

    model: str = "clerk"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        part = (llm_request.contents[-1].parts or [types.Part()])[-1]
        if part.function_response is None:
            seconds = float(part.text or 0)
            yield LlmResponse(content=model_content(call("count_stock", seconds=seconds)))
        elif (part.function_response.response or {}).get("status") == "queued":
            yield LlmResponse(content=text_content("It is on its way."))
        else:
            for word in WORDS:
                yield LlmResponse(content=text_content(f"{word} "), partial=True)
                await asyncio.sleep(SECONDS_BETWEEN)
            yield LlmResponse(content=text_content(" ".join(WORDS)))


@job_tool
def count_stock(seconds: float) -> dict[str, Any]:
    """Count the items on the shelves."""
    time.sleep(seconds)
    return {"items": 12}


app = App(name="working", root_agent=LlmAgent(name="clerk", model=ClerkModel(), tools=[count_stock]))
