"""The agent of one half of the people: its model runs in the process that runs the invocation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import ClassVar

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from tests.chaos.site.obedience import PAUSE_SECONDS, call_for, words_for
from tests.chaos.site.tools import TOOLS
from tests.fakes import model_content, text_content


class ObedientModel(BaseLlm):
    """Model that follows the last part of the request."""

    is_scripted: ClassVar[bool] = True

    model: str = "obedient"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        part = (llm_request.contents[-1].parts or [types.Part()])[-1]
        call = call_for(part)
        if call is not None:
            yield LlmResponse(content=model_content(types.Part(function_call=call)))
            return
        words = words_for(part)
        for word in words:
            await asyncio.sleep(PAUSE_SECONDS)
            yield LlmResponse(content=text_content(word), partial=True)
        yield LlmResponse(content=text_content("".join(words)))


app = App(name="chaos", root_agent=LlmAgent(name="obedient", model=ObedientModel(), tools=TOOLS))
