"""Model with scripted answers."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr

from runtime import types
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse

Turn = str | types.Part | list[types.Part] | LlmResponse | Exception | asyncio.Event
Rule = Callable[[LlmRequest], Turn]

# Matches no character, so each word keeps its space.
_AFTER_A_SPACE = re.compile("(?<= )")


class ScriptedModel(BaseLlm):
    """Answer each call with the next turn of a script and record the requests.

    A turn is a text, one or several parts, a response, an exception to raise, or an `asyncio.Event` to wait for. With
    `stream`, a text is also sent word by word as partial responses, each after `pause` seconds. A `rule` replaces the
    script: it computes the turn from the request.
    """

    is_scripted: ClassVar[bool] = True

    model: str = "scripted"
    turns: list[Any] = Field(default_factory=list)
    rule: Rule | None = None
    pause: float = 0.0
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)

    @property
    def requests(self) -> list[LlmRequest]:
        """Requests so far, in order."""
        return self._requests

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the next turn.

        Raises:
            AssertionError: the script has no turn left.
        """
        self._requests.append(llm_request)
        turn = self.rule(llm_request) if self.rule else self._next_turn()
        if isinstance(turn, asyncio.Event):
            await turn.wait()
            turn = "released"
        if isinstance(turn, Exception):
            raise turn
        if stream and isinstance(turn, str):
            for word in _AFTER_A_SPACE.split(turn):
                await asyncio.sleep(self.pause)
                yield LlmResponse(content=types.ModelContent(word), partial=True)
        yield turn if isinstance(turn, LlmResponse) else LlmResponse(content=model_content(turn))

    def _next_turn(self) -> Turn:
        if not self.turns:
            raise AssertionError(f"The script has no turn for model call {len(self._requests)}: add one.")
        turn: Turn = self.turns.pop(0)
        return turn


ScriptModel = Callable[..., ScriptedModel]
"""Type of the fixture `scripted_model`: takes an agent or app, and turns."""


def call(name: str, call_id: str | None = None, /, **args: Any) -> types.Part:
    """Return a part with a function call, to use in a turn."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args, id=call_id))


def model_content(turn: str | types.Part | Iterable[types.Part]) -> types.Content:
    """Return a model's content for a text, a part or several parts."""
    if isinstance(turn, str | types.Part):
        return types.ModelContent(turn)
    return types.ModelContent(list(turn))
