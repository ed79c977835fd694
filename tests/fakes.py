"""Fake models, and helpers for the contents that tests send and expect."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Sequence
from typing import Any, ClassVar

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.events.calls import MadeCalls
from runtime.events.event import Event
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.testing.scripted_model import ScriptedModel as ScriptedModel
from runtime.testing.scripted_model import Turn as Turn
from runtime.testing.scripted_model import call as call
from runtime.testing.scripted_model import model_content as model_content


class StreamingModel(BaseLlm):
    """Streams the words of `words()` as partial responses, then yields the whole text."""

    is_scripted: ClassVar[bool] = True

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


def pending_calls(events: Sequence[Event]) -> dict[str, str]:
    """Return the long-running calls without a response from outside, as `{call id: author}`."""
    return {made.call.id or "": made.event.author for made in MadeCalls(events).pending()}


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
