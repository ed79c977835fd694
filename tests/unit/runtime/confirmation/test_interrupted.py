"""Crashes between a confirmation request, its answer and the call: nothing is lost or run twice (contract T7, R1)."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.events import Event
from runtime.tools import FunctionTool
from tests.fakes import ScriptedModel, call, say
from tests.unit.runtime.confirmation.chat import Chat, answers, requests, response, texts


class Till:
    def __init__(self) -> None:
        self.paid: list[int] = []

    def pay(self, amount: int) -> str:
        """Pay."""
        self.paid.append(amount)
        return "paid"


@pytest.fixture
def till() -> Till:
    return Till()


async def chat_with(till: Till) -> Chat:
    model = ScriptedModel(turns=[call("pay", "c1", amount=5), "Done."])
    tool = FunctionTool(till.pay, require_confirmation=True)
    return await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=[tool]), resumable=True)


async def resumed(chat: Chat, invocation_id: str) -> list[Event]:
    run = chat.runner.run_async(user_id="ada", session_id=chat.session.id, invocation_id=invocation_id)
    return [event async for event in run]


async def run_until(chat: Chat, message: types.Content, after: int) -> list[Event]:
    """Run the message and stop after so many events."""
    run = chat.runner.run_async(user_id="ada", session_id=chat.session.id, new_message=message)
    events = [await anext(run) for _ in range(after)]
    await run.aclose()
    return events


async def test_t7_a_request_that_was_not_committed_is_made_on_resume(till: Till) -> None:
    chat = await chat_with(till)
    events = await run_until(chat, say("pay 5"), after=2)
    assert requests(events) == []
    asking = await resumed(chat, events[0].invocation_id)
    assert len(asking) == 1
    assert texts(await chat.confirm(*requests(asking))) == ["Done."]
    assert till.paid == [5]


async def test_t7_an_open_request_is_not_repeated_on_resume(till: Till) -> None:
    chat = await chat_with(till)
    events = await chat.send("pay 5")
    assert await resumed(chat, events[0].invocation_id) == []
    assert till.paid == []


async def test_t7_an_answer_that_was_only_stored_is_handled_on_resume(till: Till) -> None:
    chat = await chat_with(till)
    events = await chat.send("pay 5")
    [asked] = requests(events)
    yes = response("adk_request_confirmation", asked.id, {"confirmed": True})
    message = Event(
        author="user",
        invocation_id=events[0].invocation_id,
        content=types.Content(role="user", parts=[yes]),
    )
    await chat.runner.session_service.append_event(await chat.stored(), message)
    assert texts(await resumed(chat, events[0].invocation_id)) == ["Done."]
    assert till.paid == [5]


async def test_t7_a_call_that_ran_is_not_rerun_on_resume(till: Till) -> None:
    chat = await chat_with(till)
    [asked] = requests(await chat.send("pay 5"))
    yes = response("adk_request_confirmation", asked.id, {"confirmed": True})
    events = await run_until(chat, types.Content(role="user", parts=[yes]), after=1)
    assert answers(events) == [("c1", {"result": "paid"})]
    assert texts(await resumed(chat, events[0].invocation_id)) == ["Done."]
    assert await chat.confirm(asked) == []
    assert till.paid == [5]
