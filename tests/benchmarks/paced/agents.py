"""The paced agent: each word is the time at which the model yielded it, so that a reader can compute its age."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import ClassVar

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from tests.fakes import text_content

PLAIN = ("answer", 0.02, 50)
"""Plan of a message of another benchmark: no call, seconds of the model for each word, number of words."""
CALL = types.Part(function_call=types.FunctionCall(name="look_up", args={"word": "x"}))


class PacedModel(BaseLlm):
    """Model that streams words at a fixed rate, as the last message says: see `Work.text`."""

    is_scripted: ClassVar[bool] = True

    model: str = "paced"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        kind, seconds_between, count = _last_message(llm_request)
        if kind == "call" and not _is_response(llm_request.contents[-1]):
            yield LlmResponse(content=types.Content(role="model", parts=[CALL]))
            return
        words, due = [], time.perf_counter()
        for _ in range(count):
            due += seconds_between
            await asyncio.sleep(due - time.perf_counter() if seconds_between else 0)
            words.append(f"{time.time():.6f} ")
            yield LlmResponse(content=text_content(words[-1]), partial=True)
        yield LlmResponse(content=text_content("".join(words)))


def look_up(word: str) -> str:
    """Look a word up."""
    return word


def _last_message(request: LlmRequest) -> tuple[str, float, int]:
    """Return what the newest text of the person asks for."""
    texts = (
        part.text
        for content in reversed(request.contents)
        if content.role == "user"
        for part in content.parts or []
    )
    match next(filter(None, texts), "").split():
        case ["call" | "answer" as kind, seconds, words]:
            return kind, float(seconds), int(words)
        case _:
            return PLAIN


def _is_response(content: types.Content) -> bool:
    return any(part.function_response for part in content.parts or [])


app = App(name="paced", root_agent=LlmAgent(name="paced", model=PacedModel(), tools=[look_up]))
