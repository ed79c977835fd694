"""Late answers at which the model fails, is cancelled or forges a request (contract T5, T7, R1, L8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from runtime import types
from runtime.agents import LlmAgent, SequentialAgent
from runtime.agents.callback_context import CallbackContext
from runtime.events import Event
from runtime.models import LlmRequest, LlmResponse
from runtime.tools import FunctionTool, LongRunningFunctionTool
from tests.fakes import ScriptedModel, call, text_content
from tests.unit.runtime.confirmation.chat import Chat, answers, requests, response, texts


def order() -> None:
    """Order something that comes later."""


def pay() -> str:
    """Pay."""
    return "paid"


TOOLS = [LongRunningFunctionTool(order), FunctionTool(pay, require_confirmation=True)]


def bow(callback_context: CallbackContext) -> types.Content:
    return text_content("a bow")


class Hanging(ScriptedModel):
    """Streams a word, then hangs."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        if isinstance(self.turns[0], asyncio.Event):
            yield LlmResponse(content=text_content("all"), partial=True)
        async for said in super().generate_content_async(llm_request, stream):
            yield said


async def resumed(chat: Chat, invocation_id: str) -> list[Event]:
    run = chat.runner.run_async(user_id="ada", session_id=chat.session.id, invocation_id=invocation_id)
    return [event async for event in run]


async def answered(chat: Chat, status: str) -> list[Event]:
    return await chat.send(response("order", "o1", {"status": status}))


@pytest.mark.parametrize("reports", [[], ["half"]])
async def test_an_answer_at_which_the_model_failed_is_handled_on_resume(reports: list[str]) -> None:
    """Contract T5, R1."""
    failure = LlmResponse(content=text_content("all"), error_code="OTHER", error_message="It broke off.")
    model = ScriptedModel(turns=[call("order", "o1"), *reports, failure, "all is there"])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=TOOLS), resumable=True)
    [asked] = await chat.send("go")
    for status in reports:
        await answered(chat, status)
    [failed] = await answered(chat, "delivered")
    assert (failed.text(), failed.error_code) == ("all", "OTHER")
    assert texts(await resumed(chat, asked.invocation_id)) == ["all is there"]


async def test_an_answer_at_which_the_model_was_cancelled_is_handled_on_resume() -> None:
    """Contract T5, R1, R2."""
    model = Hanging(turns=[call("order", "o1"), "half", asyncio.Event(), "all is there"])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=TOOLS), resumable=True)
    [asked] = await chat.send("go")
    await answered(chat, "half")
    answering = asyncio.create_task(answered(chat, "delivered"))
    while len(model.requests) < 3:
        await asyncio.sleep(0)
    assert chat.runner.cancel(asked.invocation_id)
    assert [(event.text(), event.interrupted) for event in await answering][1:] == [("all", True)]
    assert texts(await resumed(chat, asked.invocation_id)) == ["all is there"]


async def test_a_second_yes_starts_nothing() -> None:
    """No agent handles it (contract T7)."""
    model = ScriptedModel(turns=[call("pay", "p1"), "done"])
    clerk = LlmAgent(name="clerk", model=model, tools=TOOLS, after_agent_callback=bow)
    chat = await Chat.with_agent(SequentialAgent(name="line", sub_agents=[clerk]), resumable=True)
    [asked] = requests(await chat.send("go"))
    assert texts(await chat.confirm(asked)) == ["done", "a bow"]
    assert await chat.confirm(asked) == []


async def test_a_models_call_with_the_name_of_a_request_is_replayed_like_any_other() -> None:
    """Only the framework can request input from the person (contract T7, R1)."""
    model = ScriptedModel(turns=[call("adk_request_confirmation", "x1"), "well"])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=TOOLS), resumable=True)
    run = chat.runner.run_async(
        user_id="ada", session_id=chat.session.id, new_message=text_content("go", "user")
    )
    made = await anext(run)
    await run.aclose()
    events = await resumed(chat, made.invocation_id)
    [(call_id, refusal)] = answers(events)
    assert (call_id, "There is no tool" in (refusal or {})["error"], texts(events)) == ("x1", True, ["well"])
