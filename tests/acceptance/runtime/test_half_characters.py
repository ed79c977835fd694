"""Contract Q2: half a character, as a text that was cut may hold it, ends no turn, and the rest of the text is kept."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import BaseModel

from runtime import types
from runtime.agents import BaseAgent, InvocationContext, LlmAgent
from runtime.events import Event
from runtime.tools import AgentTool, ToolContext
from tests.fakes import ScriptedModel, call, say
from tests.unit.runtime.conversation import Conversation, requests_to, response_of

HALF = "a\ud83d"
WHOLE = "a\ufffd"


class Note(BaseModel):
    text: str


RESULTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "text": (HALF, {"result": WHOLE}),
    "dict": ({HALF: [HALF, 1]}, {WHOLE: [WHOLE, 1]}),
    "model": ({"note": Note(text=HALF), "data": b"\xff"}, {"note": {"text": WHOLE}, "data": "_w=="}),
    "pair": ("\ud83d\ude00", {"result": "\U0001f600"}),
}


def agent(*turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), **fields)


async def assert_valid(conversation: Conversation) -> None:
    """Assert that the stored events, and the requests of the root agent, can be sent as UTF-8."""
    session = await conversation.session()
    json.loads(session.model_dump_json())
    root = conversation.runner.agent
    for request in requests_to(root) if isinstance(root, LlmAgent) else []:
        request.model_dump_json()


@pytest.mark.parametrize(("result", "expected"), RESULTS.values(), ids=RESULTS.keys())
async def test_the_result_of_a_tool(result: Any, expected: dict[str, Any]) -> None:
    def read() -> Any:
        """Read."""
        return result

    conversation = Conversation(agent(call("read"), "Done.", tools=[read]))
    _, answered, last = await conversation.say("Read it.")
    assert response_of(answered) == expected
    assert last.text() == "Done."
    await assert_valid(conversation)


async def test_the_arguments_of_a_call() -> None:
    seen = []

    def write(text: str, notes: dict[str, str], tool_context: ToolContext) -> None:
        """Write."""
        seen.append((text, notes))
        tool_context.state["written"] = text

    conversation = Conversation(agent(call("write", text=HALF, notes={HALF: HALF}), "Done.", tools=[write]))
    events = await conversation.say("Write it.")
    assert seen == [(WHOLE, {WHOLE: WHOLE})]
    assert events[-1].text() == "Done."
    await assert_valid(conversation)


async def test_the_answer_of_a_model_and_the_message_of_the_user() -> None:
    conversation = Conversation(agent(HALF, "Done.", output_key="said"))
    (event,) = await conversation.say(say(HALF))
    assert event.text() == WHOLE
    session = await conversation.session()
    assert session.state["said"] == WHOLE
    assert session.events[0].text() == WHOLE
    assert (await conversation.say("And?"))[-1].text() == "Done."
    await assert_valid(conversation)


async def test_the_answer_of_an_agent_that_runs_as_a_tool() -> None:
    expert = LlmAgent(name="expert", model=ScriptedModel(turns=[HALF]), output_key="found")
    conversation = Conversation(agent(call("expert", request=HALF), "Done.", tools=[AgentTool(expert)]))
    _, answered, last = await conversation.say("Ask.")
    assert response_of(answered) == {"result": WHOLE}
    assert last.text() == "Done."
    await assert_valid(conversation)


async def test_the_event_of_an_agents_own_code() -> None:
    class Speaker(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author=self.name, content=types.ModelContent(HALF))

    conversation = Conversation(Speaker(name="speaker"))
    (event,) = await conversation.say("Speak.")
    assert event.text() == WHOLE
    await assert_valid(conversation)
