"""`DemoModel`: the demo rules as a `BaseLlm`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator

from adk_site.demo import DEMO_MODEL
from adk_site.demo.model.choice import Call, Choice, choose
from adk_site.demo.model.parsed_request import parse_request
from runtime import types
from runtime.models import BaseLlm, LlmRequest, LlmResponse


class DemoModel(BaseLlm):
    """Model that picks a declared function by the person's words, and says that it is a demo model.

    One message leads to at most one transfer and then one function call. The reported usage counts words instead of
    tokens.

    Attributes:
        delay: Seconds between two words of a streamed answer.
    """

    model: str = DEMO_MODEL
    delay: float = 0.03

    @classmethod
    def supported_models(cls) -> list[str]:
        return [DEMO_MODEL]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer the request. Never yields an error response."""
        long_running = {name for name, tool in llm_request.tools_dict.items() if tool.is_long_running}
        choice = choose(parse_request(llm_request), long_running)
        if stream and not isinstance(choice, Call):
            for word in re.findall(r"\s*\S+", choice.text):
                await asyncio.sleep(self.delay)
                yield LlmResponse(content=_content(types.Part(text=word)), partial=True)
        yield LlmResponse(
            content=_content(_part(choice)),
            finish_reason=types.FinishReason.STOP,
            usage_metadata=_usage(llm_request, choice),
            model_version=DEMO_MODEL,
        )


def _part(choice: Choice) -> types.Part:
    if isinstance(choice, Call):
        return types.Part(function_call=types.FunctionCall(name=choice.name, args=choice.args))
    return types.Part(text=choice.text)


def _content(part: types.Part) -> types.Content:
    return types.Content(role="model", parts=[part])


def _usage(request: LlmRequest, choice: Choice) -> types.GenerateContentResponseUsageMetadata:
    parts = [part for content in request.contents for part in content.parts or []]
    prompt = sum(len((part.text or "").split()) for part in parts)
    answer = 1 if isinstance(choice, Call) else len(choice.text.split())
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=prompt, candidates_token_count=answer, total_token_count=prompt + answer
    )
