"""Contract E7: a response that ends without an answer is an error, which can be tried again."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.models import LlmResponse
from runtime.tools import AgentTool
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, response_of

STOP = types.FinishReason.STOP
THOUGHT = types.Part(text="Hm.", thought=True)
UNANSWERED: dict[str, list[types.Part] | None] = {
    "no content": None,
    "no parts": [],
    "an empty text": [types.Part(text="")],
    "spaces": [types.Part(text=" \n")],
    "thoughts": [THOUGHT],
    "a thought and spaces": [THOUGHT, types.Part(text="\n")],
    "a signature": [types.Part(thought_signature=b"abc")],
}


def ending(parts: list[types.Part] | None, reason: types.FinishReason = STOP) -> LlmResponse:
    """Return a whole response that ends for a reason."""
    content = None if parts is None else types.Content(role="model", parts=parts)
    return LlmResponse(content=content, finish_reason=reason)


def agent(*turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), **fields)


@pytest.mark.parametrize("parts", UNANSWERED.values(), ids=UNANSWERED.keys())
async def test_a_response_without_an_answer_is_an_error(parts: list[types.Part] | None) -> None:
    conversation = Conversation(agent(ending(parts), output_key="said"))
    (event,) = await conversation.say("Hello?")
    assert (event.author, event.error_code) == ("clerk", "MODEL_RETURNED_NO_CONTENT")
    assert event.error_message == "The model sent a response without an answer."
    assert event.content == (ending(parts).content)
    assert "said" not in (await conversation.session()).state


async def test_a_response_without_an_answer_after_a_call_is_an_error() -> None:
    def look() -> str:
        """Look."""
        return "seen"

    events = await Conversation(agent(call("look"), ending([THOUGHT]), tools=[look])).say("Look.")
    assert [event.error_code for event in events] == [None, None, "MODEL_RETURNED_NO_CONTENT"]


@pytest.mark.parametrize(
    "part",
    [
        types.Part(text="Yes."),
        types.Part(executable_code=types.ExecutableCode(code="1", language=types.Language.PYTHON)),
        types.Part(inline_data=types.Blob(data=b"1", mime_type="image/png")),
    ],
    ids=["text", "code", "file"],
)
async def test_a_response_with_an_answer_is_no_error(part: types.Part) -> None:
    (event,) = await Conversation(agent(ending([THOUGHT, part]))).say("Hello?")
    assert event.error_code is None


async def test_an_agent_as_a_tool_without_an_answer_is_an_error_response() -> None:
    silent = LlmAgent(name="silent", model=ScriptedModel(turns=[ending([types.Part(text=" ")])]))
    asking = agent(call("silent", request="?"), "It is silent.", tools=[AgentTool(silent)])
    events = await Conversation(asking).say("Ask.")
    assert response_of(events[1]) == {"error": "silent failed: The model sent a response without an answer."}


async def test_an_agent_without_an_answer_does_not_get_the_next_message() -> None:
    """Contract L8."""
    billing = LlmAgent(name="billing", model=ScriptedModel(turns=[ending([THOUGHT])]))
    conversation = Conversation(
        agent(call("transfer_to_agent", agent_name="billing"), "I can help.", sub_agents=[billing])
    )
    await conversation.say("My bill?")
    assert [event.author for event in await conversation.say("Hello?")] == ["clerk"]
