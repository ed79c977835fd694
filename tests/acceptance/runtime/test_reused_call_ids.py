"""Contract A7, Q3, R1, R2, T5: a model may use a call id again, so calls and responses are paired by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime import types
from runtime.agents import LlmAgent
from runtime.engine.seal import seal_events
from runtime.events import Event
from runtime.tools import LongRunningFunctionTool
from tests.fakes import ScriptedModel, call, pending_calls, requests_of
from tests.unit.runtime.conversation import Conversation
from tests.unit.runtime.engine.histories import answered, called, user


def square(n: int) -> int:
    """Square a number."""
    return n * n


def order(item: str) -> dict[str, str]:
    """Order an item."""
    return {"status": "pending", "item": item}


def clerk(*turns: Any, tools: Sequence[Any] = (square,)) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), tools=list(tools))


def results(contents: Sequence[types.Content]) -> list[Any]:
    """Return the results in the contents, each with the id of its call."""
    responses = [part.function_response for content in contents for part in content.parts or []]
    return [(one.id, (one.response or {}).get("result")) for one in responses if one]


async def test_each_call_has_its_own_result_in_the_request() -> None:
    agent = clerk(call("square", "c", n=2), call("square", "c", n=3), "4 and 9")
    await Conversation(agent).say("2 and 3?")
    assert results(requests_of(agent)[2].contents) == [("c", 4), ("c", 9)]


async def test_the_ids_may_begin_anew_in_each_invocation() -> None:
    agent = clerk(call("square", "c", n=2), "4", call("square", "c", n=3), "9", "bye")
    conversation = Conversation(agent)
    for message in ("2?", "3?", "thanks"):
        await conversation.say(message)
    assert results(requests_of(agent)[-1].contents) == [("c", 4), ("c", 9)]


async def test_an_id_that_one_response_repeats_is_replaced() -> None:
    agent = clerk([call("square", "c", n=2), call("square", "c", n=3)], "4 and 9")
    first, *_ = await Conversation(agent).say("2 and 3?")
    assert len({one.id for one in first.get_function_calls()}) == 2
    assert results(requests_of(agent)[1].contents) == [("c", 4), (None, 9)]


async def test_a_long_running_call_gets_an_id_that_is_not_used_yet() -> None:
    """The answer from outside names the call by its id alone."""
    turns = [call("order", "0", item="tea"), "ordered", call("order", "0", item="milk"), "ordered", "it came"]
    agent = clerk(*turns, tools=[LongRunningFunctionTool(order)])
    conversation = Conversation(agent)
    [tea], [milk] = [
        (await conversation.say(message))[0].get_function_calls() for message in ("tea", "and milk")
    ]
    assert tea.id == "0" != milk.id
    session = await conversation.session()
    assert pending_calls(session.events) == {"0": "clerk", milk.id: "clerk"}
    came = types.FunctionResponse(name="order", id=milk.id, response={"result": "milk"})
    answer = types.Content(role="user", parts=[types.Part(function_response=came)])
    await conversation.say(answer)
    assert [result for _, result in results(requests_of(agent)[-1].contents)] == [None, "milk"]


async def test_a_late_answer_belongs_to_the_call_of_its_function() -> None:
    turns = [call("order", "0", item="tea"), call("square", "0", n=2), "4", "it came"]
    agent = clerk(*turns, tools=[LongRunningFunctionTool(order), square])
    conversation = Conversation(agent)
    await conversation.say("tea, and 2?")
    came = types.FunctionResponse(name="order", id="0", response={"result": "tea"})
    await conversation.say(types.Content(role="user", parts=[types.Part(function_response=came)]))
    assert results(requests_of(agent)[-1].contents)[0] == ("0", "tea")
    assert pending_calls((await conversation.session()).events) == {}


def test_a_call_whose_id_was_answered_before_is_sealed() -> None:
    fields = {"invocation_id": "e-1"}
    events = [
        user("go", **fields),
        called("c", **fields),
        answered(fields=fields, c=1),
        called("c", **fields),
    ]
    [seal] = seal_events(events, "e-1", "stopped")
    assert [one.id for one in seal.get_function_responses()] == ["c"]


def test_parallel_agents_may_use_the_same_ids() -> None:
    a, b = {"invocation_id": "e-1", "branch": "p.a"}, {"invocation_id": "e-1", "branch": "p.b"}
    events: list[Event] = [
        called("c", author="a", **a),
        called("c", author="b", **b),
        answered("a", fields=a, c=1),
    ]
    [seal] = seal_events(events, "e-1", "stopped")
    assert (seal.author, seal.branch) == ("b", "p.b")
