"""The paced agent: each piece has the time at which the model yielded it, so that a reader can compute its age."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from typing import ClassVar

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from tests.fakes import text_content

PLAIN = ("{time} ",)
MARKDOWN = (
    "## Capital at {time}\n\n",
    "It grows by **{time}**, ",
    "*slowly*: see `grow({time})` ",
    "and [the law](https://example.org/{time}).\n\n",
    "| Years | Capital |\n|------:|--------:|\n| 0 | {time} |\n",
    "| 10 | {time} |\n",
    "| 20 | {time} |\n\n",
    "$$K_n = {time} ",
    "\\cdot \\left(1 + \\frac{{p}}{{{time}}}\\right)^n$$\n\n",
    "```python\ndef grow(years):  # {time}\n",
    "    capital = {time}\n",
    "    for year in range(years):\n        capital *= {time}\n",
    "    return capital  # {time}\n```\n\n",
    "- [x] after {time}\n",
    "- [ ] before {time}\n\n",
)
"""Pieces of an answer, again and again."""
PLAN = ("answer", 0.02, 50, PLAIN)
"""Plan of a message of another benchmark: no call, seconds of the model for each piece, number and kind of pieces."""
CALL = types.Part(function_call=types.FunctionCall(name="look_up", args={"word": "x"}))


class PacedModel(BaseLlm):
    """Model that streams pieces at a fixed rate, as the last message says: see `Work.text`."""

    is_scripted: ClassVar[bool] = True

    model: str = "paced"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        kind, seconds_between, count, pieces = _last_message(llm_request)
        if kind == "call" and not _is_response(llm_request.contents[-1]):
            yield LlmResponse(content=types.Content(role="model", parts=[CALL]))
            return
        text = ""
        due = time.perf_counter()
        for number in range(count):
            due += seconds_between
            await asyncio.sleep(due - time.perf_counter() if seconds_between else 0)
            piece = pieces[number % len(pieces)].format(time=f"{time.time():.6f}")
            text += piece
            yield LlmResponse(content=text_content(piece), partial=True)
        yield LlmResponse(content=text_content(text))


def look_up(word: str) -> str:
    """Look a word up."""
    return word


def _last_message(request: LlmRequest) -> tuple[str, float, int, Sequence[str]]:
    """Return what the newest text of the person asks for."""
    texts = (
        part.text
        for content in reversed(request.contents)
        if content.role == "user"
        for part in content.parts or []
    )
    match next(filter(None, texts), "").split():
        case ["call" | "answer" as kind, seconds, words, look]:
            return kind, float(seconds), int(words), MARKDOWN if look == "markdown" else PLAIN
        case _:
            return PLAN


def _is_response(content: types.Content) -> bool:
    return any(part.function_response for part in content.parts or [])


app = App(name="paced", root_agent=LlmAgent(name="paced", model=PacedModel(), tools=[look_up]))
