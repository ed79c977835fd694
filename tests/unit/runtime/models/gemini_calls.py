"""Helpers that call `Gemini` and read its responses."""

from __future__ import annotations

from contextlib import aclosing

from runtime import types
from runtime.models import Gemini, LlmRequest, LlmResponse


def user_says(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def model_says(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


def question(text: str = "Hi") -> LlmRequest:
    return LlmRequest(contents=[user_says(text)])


async def ask(gemini: Gemini, request: LlmRequest, *, stream: bool = False) -> list[LlmResponse]:
    async with aclosing(gemini.generate_content_async(request, stream=stream)) as responses:
        return [response async for response in responses]


async def answer(gemini: Gemini, request: LlmRequest | None = None, *, stream: bool = False) -> LlmResponse:
    return (await ask(gemini, request or question(), stream=stream))[-1]


def texts(response: LlmResponse) -> list[str | None]:
    assert response.content is not None
    return [part.text for part in response.content.parts or []]
