"""Stand-ins for what is outside: models that follow a script."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

from pydantic import Field, PrivateAttr

from runtime import types
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse

Turn = str | types.Part | list[types.Part] | LlmResponse | Exception | asyncio.Event
Rule = Callable[[LlmRequest], Turn]


class ScriptedModel(BaseLlm):
    """Answers with the turns of a script, one a call, and records the requests.

    A turn is a text, a part or several, a response, an exception to raise, or an `asyncio.Event` to hang on. With
    `stream`, a text comes word by word first. `rule` instead of turns computes the answer from the request.
    """

    model: str = "scripted"
    turns: list[Any] = Field(default_factory=list)
    rule: Any = None
    pause: float = 0.0
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)
    _contents: list[list[types.Content]] = PrivateAttr(default_factory=list)

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
    """Answers whatever is asked with its words, piece by piece, and then with the whole."""

    @abstractmethod
    def words(self) -> AsyncGenerator[str, None]:
        """The pieces, each at its time."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        told = []
        async for word in self.words():
            told.append(word)
            yield LlmResponse(content=text_content(word), partial=True)
        yield LlmResponse(content=text_content("".join(told)))


def text_content(text: str, role: str = "model") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def say(text: str) -> types.Content:
    """What a person says."""
    return text_content(text, role="user")


def call(name: str, call_id: str | None = None, /, **args: Any) -> types.Part:
    """A part that calls a function."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args, id=call_id))


def model_content(turn: str | types.Part | Iterable[types.Part]) -> types.Content:
    """What a model answers: a text, a part or several."""
    if isinstance(turn, str):
        return text_content(turn)
    return types.Content(role="model", parts=[turn] if isinstance(turn, types.Part) else list(turn))
