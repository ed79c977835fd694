"""Agents of google-adk at the other end: their waiting calls are asked and answered as calls (contract A10)."""

from __future__ import annotations

from a2a.types import Part

from runtime import types
from runtime.a2a.parts import (
    data_of,
    data_part,
    function_call_part,
    function_response_in,
    function_response_part,
)
from runtime.agents.remote_a2a_agent import RemoteA2aAgent
from runtime.events import Event
from runtime.events.calls import REMOTE_INPUT, REQUEST_CONFIRMATION
from tests.a2a_server import Turn, remote_agent
from tests.fakes import parts_of
from tests.unit.runtime.conversation import Conversation, answer_to

REFUND = {"id": "call-1", "name": "refund", "args": {"amount": 5}}


async def test_a_confirmation_is_asked_as_one_and_its_answer_names_the_remote_call() -> None:
    question = {"hint": "Refund 5?", "confirmed": False, "confirmedBy": "staff:a.b", "forSession": True}
    asked = types.FunctionCall(
        id="their-id",
        name=REQUEST_CONFIRMATION,
        args={"originalFunctionCall": REFUND, "toolConfirmation": question},
    )
    event, answer = await ask_and_answer(asked, {"confirmed": True})
    [call] = event.get_function_calls()
    assert call.name == REQUEST_CONFIRMATION and call.id != "their-id"
    assert call.args == {
        "originalFunctionCall": REFUND,
        "toolConfirmation": {"hint": "Refund 5?", "confirmed": False, "payload": None},
    }
    response = function_response_in(answer)
    assert response is not None
    assert (response.id, response.name) == ("their-id", REQUEST_CONFIRMATION)
    assert response.response == {"confirmed": True}


async def test_another_call_is_asked_as_a_question() -> None:
    asked = types.FunctionCall(id="their-id", name="ask_manager", args={"days": 3})
    event, answer = await ask_and_answer(asked, {"result": "yes"})
    [call] = event.get_function_calls()
    assert (call.name, call.args) == (REMOTE_INPUT, {"input_required": 'ask_manager: {"days": 3}'})
    assert data_of(answer) == {"id": "their-id", "name": "ask_manager", "response": {"result": "yes"}}


async def test_a_request_for_a_credential_does_not_become_one_of_this_site() -> None:
    asked = types.FunctionCall(id="their-id", name="adk_request_credential", args={"authConfig": {}})
    event, _ = await ask_and_answer(asked, {"result": "no"})
    assert [call.name for call in event.get_function_calls()] == [REMOTE_INPUT]


async def test_calls_that_the_remote_agent_has_made_itself_are_not_shown() -> None:
    async def works(turn: Turn) -> None:
        await turn.begin()
        made = data_part(REFUND, {"adk_type": "function_call"})
        response = function_response_part(
            types.FunctionResponse(id="call-1", name="refund", response={"ok": 1})
        )
        await turn.updater.add_artifact([made, response, Part(text="Refunded.")])
        await turn.updater.complete()

    async with remote_agent(works) as remote:
        events = await Conversation(RemoteA2aAgent("desk", remote.card, use_legacy=False)).say("Refund 5")
    assert (events[-1].text(), len(parts_of(events[-1].content))) == ("Refunded.", 1)


async def ask_and_answer(call: types.FunctionCall, response: dict[str, object]) -> tuple[Event, Part]:
    """Let a remote agent make a call that waits; return the event that asks, and the part that answers."""

    async def asks(turn: Turn) -> None:
        await turn.begin()
        if turn.context.current_task is None:
            await turn.updater.requires_input(turn.words("", function_call_part(call)))
        else:
            await turn.updater.complete(turn.words("thanks"))

    async with remote_agent(asks) as remote:
        conversation = Conversation(RemoteA2aAgent("oracle", remote.card))
        [event] = await conversation.say("go")
        [last] = await conversation.say(answer_to(event, response))
    assert last.text() == "thanks"
    [answer] = remote.messages[1].parts
    return event, answer
