"""Fake models that follow a script, and helpers for the contents that tests send and expect."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

from pydantic import Field, PrivateAttr

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse

Turn = str | types.Part | list[types.Part] | LlmResponse | Exception | asyncio.Event
Rule = Callable[[LlmRequest], Turn]


class ScriptedModel(BaseLlm):
    """Answers each call with the next turn of a script and records the requests.

    A turn is a text, one or several parts, a response, an exception to raise, or an `asyncio.Event` to wait for. With
    `stream`, a text is also sent word by word as partial responses. A `rule`, if given, computes the turn from the
    request and replaces the script.
    """

    model: str = "scripted"
    turns: list[Any] = Field(default_factory=list)
    rule: Any = None
    pause: float = 0.0
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)

    @property
    def requests(self) -> list[LlmRequest]:
        return self._requests

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._requests.append(llm_request)
        turn = self.rule(llm_request) if self.rule else self.turns.pop(0)
        if isinstance(turn, asyncio.Event):
            await turn.wait()
            turn = "released"
        if isinstance(turn, Exception):
            raise turn
        if stream and isinstance(turn, str):
            for word in turn.split(" "):
                await asyncio.sleep(self.pause)
                yield LlmResponse(content=text_content(word + " "), partial=True)
        yield turn if isinstance(turn, LlmResponse) else LlmResponse(content=model_content(turn))


class StreamingModel(BaseLlm):
    """Streams the words of `words()` as partial responses, then yields the whole text."""

    @abstractmethod
    def words(self) -> AsyncGenerator[str, None]:
        """Yield the words; the subclass controls the timing."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        streamed = []
        async for word in self.words():
            streamed.append(word)
            yield LlmResponse(content=text_content(word), partial=True)
        yield LlmResponse(content=text_content("".join(streamed)))


def requests_of(agent: BaseAgent) -> list[LlmRequest]:
    """Return the requests that the agent's scripted model has recorded."""
    assert isinstance(agent, LlmAgent) and isinstance(agent.model, ScriptedModel)
    return agent.model.requests


def parts_of(content: types.Content | None) -> list[types.Part]:
    """Return the parts of a content; fail the test if there are none."""
    assert content is not None and content.parts
    return content.parts


def response_of(part: types.Part) -> dict[str, Any]:
    """Return the function response in a part; fail the test if there is none."""
    assert part.function_response is not None and part.function_response.response is not None
    return part.function_response.response


def text_content(text: str, role: str = "model") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def say(text: str) -> types.Content:
    """Return a person's message."""
    return text_content(text, role="user")


def call(name: str, call_id: str | None = None, /, **args: Any) -> types.Part:
    """Return a part with a function call."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args, id=call_id))


def model_content(turn: str | types.Part | Iterable[types.Part]) -> types.Content:
    """Return a model's content for a text, a part or several parts."""
    if isinstance(turn, str):
        return text_content(turn)
    return types.Content(role="model", parts=[turn] if isinstance(turn, types.Part) else list(turn))
