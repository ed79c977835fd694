"""The large agent: `text` gets an answer of 1 MB, `result` calls a tool whose result has 5 MB, all else the time."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import ClassVar

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import BaseLlm, LlmRequest, LlmResponse

PARAGRAPH = "The quick brown fox jumps over the lazy dog and runs on until the evening comes. " * 12 + "\n\n"
TEXT_BYTES, RESULT_BYTES = 1_000_000, 5_000_000


class LargeModel(BaseLlm):
    """Model that tells when it was asked, or answers with much text."""

    is_scripted: ClassVar[bool] = True

    model: str = "large"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        asked_at = f"{time.time():.6f} "
        last = (llm_request.contents[-1].parts or [types.Part()])[-1]
        if last.text == "result":
            call = types.FunctionCall(name="read_all", args={})
            yield _response(types.Part(function_call=call))
            return
        pieces = [PARAGRAPH] * (TEXT_BYTES // len(PARAGRAPH)) if last.text == "text" else [asked_at]
        for piece in pieces:
            yield _response(types.Part(text=piece), partial=True)
        yield _response(types.Part(text="".join(pieces)))


def read_all() -> dict[str, list[str]]:
    """Read all documents."""
    return {"documents": [PARAGRAPH] * (RESULT_BYTES // len(PARAGRAPH))}


def _response(part: types.Part, *, partial: bool | None = None) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[part]), partial=partial)


app = App(name="large", root_agent=LlmAgent(name="large", model=LargeModel(), tools=[read_all]))
