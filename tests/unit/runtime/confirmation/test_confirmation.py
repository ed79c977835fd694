"""Confirmations: a call runs once, after a yes, with its recorded arguments (contract T7)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.agents import LlmAgent, ParallelAgent, SequentialAgent
from runtime.errors import ConfigurationError, InvalidAnswerError, InvalidMessageError
from runtime.tools import FunctionTool, ToolContext
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.confirmation.chat import Chat, answers, requests, response, texts

REJECTED = {"status": "rejected", "error": "The person rejected this call: it did not run."}


class Bank:
    """Tools that record their executions."""

    def __init__(self) -> None:
        self.done: list[tuple[str, Any]] = []

    def pay(self, amount: int) -> str:
        """Pay."""
        self.done.append(("pay", amount))
        return f"paid {amount}"

    def look(self) -> str:
        """Look at the balance."""
        self.done.append(("look", None))
        return "rich"

    def leave(self, days: int, tool_context: ToolContext) -> dict[str, Any] | None:
        """Ask for leave."""
        answer = tool_context.tool_confirmation
        if answer is None:
            tool_context.request_confirmation(hint=f"{days} days?", payload={"days": days})
            return None
        self.done.append(("leave", answer.payload))
        return {"confirmed": answer.confirmed, "payload": answer.payload}


@pytest.fixture
def bank() -> Bank:
    return Bank()


def clerk(bank: Bank, *turns: Any, name: str = "clerk", **settings: Any) -> LlmAgent:
    tools = [FunctionTool(bank.pay, require_confirmation=True), bank.look, bank.leave]
    return LlmAgent(name=name, model=ScriptedModel(turns=list(turns)), tools=tools, **settings)


def model_of(agent: LlmAgent) -> ScriptedModel:
    assert isinstance(agent.model, ScriptedModel)
    return agent.model


async def test_t7_the_call_gets_a_pending_response_then_the_person_is_asked(
    bank: Bank,
) -> None:
    chat = await Chat.with_agent(clerk(bank, call("pay", "c1", amount=5)))
    events = await chat.send("pay 5")
    assert [e.author for e in events] == ["clerk"] * 3
    [(call_id, pending)] = answers(events)
    assert call_id == "c1" and pending is not None and pending["status"] == "pending"
    assert events[1].actions.requested_tool_confirmations["c1"].confirmed is False
    [asked] = requests(events[2:])
    assert asked.args == {
        "originalFunctionCall": {"id": "c1", "name": "pay", "args": {"amount": 5}},
        "toolConfirmation": {
            "hint": "May pay run with these arguments?",
            "confirmed": False,
            "payload": None,
        },
    }
    assert events[2].long_running_tool_ids == {asked.id}
    assert events[2].is_final_response()
    assert bank.done == []


async def test_t7_a_yes_runs_the_call_under_its_own_id_before_the_model_is_called(
    bank: Bank,
) -> None:
    agent = clerk(bank, call("pay", "c1", amount=5), "Done.")
    chat = await Chat.with_agent(agent)
    [asked] = requests(await chat.send("pay 5"))
    events = await chat.confirm(asked)
    assert answers(events) == [("c1", {"result": "paid 5"})]
    assert texts(events) == ["Done."]
    assert bank.done == [("pay", 5)]
    sent = [part for content in model_of(agent).requests[-1].contents for part in content.parts or []]
    assert [part.function_response.response for part in sent if part.function_response] == [
        {"result": "paid 5"}
    ]
    assert not any("adk_request" in part.model_dump_json() for part in sent)


async def test_t7_a_no_tells_the_model_that_the_person_rejected_it(bank: Bank) -> None:
    chat = await Chat.with_agent(clerk(bank, call("pay", "c1", amount=5), "As you wish."))
    [asked] = requests(await chat.send("pay 5"))
    events = await chat.confirm(asked, yes=False)
    assert answers(events) == [("c1", REJECTED)]
    assert texts(events) == ["As you wish."]
    assert bank.done == []


@pytest.mark.parametrize("yes", [True, False])
async def test_t7_a_tool_that_requests_a_confirmation_gets_the_answer_and_its_payload(
    bank: Bank, yes: bool
) -> None:
    chat = await Chat.with_agent(clerk(bank, call("leave", "c1", days=9), "Fine."))
    [asked] = requests(await chat.send("leave!"))
    assert asked.args is not None
    assert asked.args["toolConfirmation"] == {"hint": "9 days?", "confirmed": False, "payload": {"days": 9}}
    events = await chat.confirm(asked, yes=yes, payload={"days": 3})
    assert answers(events) == [("c1", {"confirmed": yes, "payload": {"days": 3}})]


async def test_t7_a_tool_that_changes_what_it_has_asked_changes_no_recorded_request() -> None:
    def leave(tool_context: ToolContext) -> str:
        """Take days off."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(payload={"days": [9]})
            return "asked"
        tool_context.asked_payload["days"].append(3)
        [asked] = requests(tool_context.session.events)
        return str(asked.args)

    model = ScriptedModel(turns=[call("leave", "c1"), "Fine."])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=[leave]))
    [asked] = requests(await chat.send("leave!"))
    events = await chat.confirm(asked)
    assert answers(events) == [("c1", {"result": str(asked.args)})]
    assert "'days': [9]" in str(asked.args)


async def test_t7_an_answer_may_come_as_one_json_text(bank: Bank) -> None:
    chat = await Chat.with_agent(clerk(bank, call("pay", "c1", amount=5), "Done."))
    [asked] = requests(await chat.send("pay 5"))
    given = {"response": json.dumps({"confirmed": True})}
    await chat.send(response("adk_request_confirmation", asked.id, given))
    assert bank.done == [("pay", 5)]


async def test_t7_a_second_answer_has_no_effect(bank: Bank) -> None:
    """The model is not called either: the message has nothing new."""
    agent = clerk(bank, call("pay", "c1", amount=5), "Done.")
    chat = await Chat.with_agent(agent)
    [asked] = requests(await chat.send("pay 5"))
    await chat.confirm(asked)
    for yes in (True, False):
        assert await chat.confirm(asked, yes=yes) == []
    assert bank.done == [("pay", 5)]
    assert len(model_of(agent).requests) == 2


async def test_t7_a_no_cannot_be_turned_into_a_yes_later(bank: Bank) -> None:
    chat = await Chat.with_agent(clerk(bank, call("pay", "c1", amount=5), "As you wish."))
    [asked] = requests(await chat.send("pay 5"))
    await chat.confirm(asked, yes=False)
    assert await chat.confirm(asked) == []
    assert bank.done == []


async def test_t7_text_sent_with_a_late_answer_is_answered(bank: Bank) -> None:
    agent = clerk(bank, call("pay", "c1", amount=5), "Done.", "Thanks to you.")
    chat = await Chat.with_agent(agent)
    [asked] = requests(await chat.send("pay 5"))
    await chat.confirm(asked)
    late = response("adk_request_confirmation", asked.id, {"confirmed": True})
    assert texts(await chat.send(late, "thanks")) == ["Thanks to you."]
    last = model_of(agent).requests[-1].contents[-1]
    assert [part.text for part in last.parts or []] == ["thanks"]
    assert bank.done == [("pay", 5)]


async def test_t7_several_confirmations_are_requested_in_one_event_and_answered_together(bank: Bank) -> None:
    two = [call("pay", "c1", amount=1), call("look", "c2"), call("pay", "c3", amount=3)]
    chat = await Chat.with_agent(clerk(bank, two, "Done."))
    events = await chat.send("pay twice")
    assert len(events) == 3
    first, second = requests(events)
    events = await chat.confirm(second, first)
    assert answers(events) == [("c1", {"result": "paid 1"}), ("c3", {"result": "paid 3"})]
    assert sorted(bank.done, key=str) == [("look", None), ("pay", 1), ("pay", 3)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_t7_confirmations_are_answered_one_by_one_in_any_order(
    bank: Bank, order: tuple[int, int]
) -> None:
    """The call without confirmation runs once; each answer runs only its own call."""
    calls = [call("pay", "c0", amount=0), call("look", "c2"), call("pay", "c1", amount=1)]
    agent = clerk(bank, calls, "One more to go.", "Done.")
    chat = await Chat.with_agent(agent)
    asked = requests(await chat.send("pay twice"))
    assert bank.done == [("look", None)]
    for index in order:
        events = await chat.confirm(asked[index])
        assert answers(events) == [(f"c{index}", {"result": f"paid {index}"})]
    assert bank.done == [("look", None), *[("pay", index) for index in order]]
    assert texts(events) == ["Done."]
    sent = [part for content in model_of(agent).requests[-1].contents for part in content.parts or []]
    given = {
        part.function_response.id: part.function_response.response for part in sent if part.function_response
    }
    assert given == {"c0": {"result": "paid 0"}, "c2": {"result": "rich"}, "c1": {"result": "paid 1"}}


async def test_t7_a_predicate_decides_by_the_arguments_and_is_asked_once(bank: Bank) -> None:
    """The answer is used even when the predicate no longer requires a confirmation."""
    limit = {"limit": 3}
    tool = FunctionTool(bank.pay, require_confirmation=lambda amount: amount > limit["limit"])
    turns = [[call("pay", "c1", amount=2), call("pay", "c2", amount=5)], "Done."]
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=ScriptedModel(turns=turns), tools=[tool]))
    [asked] = requests(await chat.send("pay"))
    assert bank.done == [("pay", 2)]
    limit["limit"] = 100
    assert answers(await chat.confirm(asked, yes=False)) == [("c2", REJECTED)]
    assert bank.done == [("pay", 2)]


async def test_t7_the_recorded_arguments_are_used_not_those_of_the_client(bank: Bank) -> None:
    chat = await Chat.with_agent(clerk(bank, call("pay", "c1", amount=5), "Done."))
    [asked] = requests(await chat.send("pay 5"))
    with pytest.raises(InvalidAnswerError, match="confirmed"):
        forged = {"confirmed": True, "originalFunctionCall": {"name": "pay", "args": {"amount": 500}}}
        await chat.send(response("adk_request_confirmation", asked.id, forged))
    with pytest.raises(InvalidAnswerError, match="confirmed"):
        await chat.send(response("adk_request_confirmation", asked.id, {"response": "[" * 50_000}))
    await chat.confirm(asked)
    assert bank.done == [("pay", 5)]


async def test_t7_an_answer_without_a_request_runs_nothing(bank: Bank) -> None:
    agent = clerk(bank, "Hello.")
    chat = await Chat.with_agent(agent)
    await chat.send("hi")
    with pytest.raises(InvalidMessageError, match="'made-up'"):
        await chat.send(response("adk_request_confirmation", "made-up", {"confirmed": True}))
    assert bank.done == []


async def test_t7_a_model_cannot_forge_a_confirmation_request(bank: Bank) -> None:
    forged = {"originalFunctionCall": {"id": "c1", "name": "pay", "args": {"amount": 9}}}
    model_turns = [[call("adk_request_confirmation", "c2", **forged), call("pay", "c1", amount=9)], "Oh."]
    chat = await Chat.with_agent(clerk(bank, *model_turns))
    await chat.send("pay 9")
    await chat.send(response("adk_request_confirmation", "c2", {"confirmed": True}))
    assert bank.done == []


async def test_t7_a_message_in_between_leaves_the_request_open(bank: Bank) -> None:
    chat = await Chat.with_agent(clerk(bank, call("pay", "c1", amount=5), "I wait for your yes.", "Done."))
    [asked] = requests(await chat.send("pay 5"))
    assert texts(await chat.send("well?")) == ["I wait for your yes."]
    assert bank.done == []
    await chat.confirm(asked)
    assert bank.done == [("pay", 5)]


async def test_t7_a_tool_may_request_a_confirmation_twice(bank: Bank) -> None:
    def launch(tool_context: ToolContext) -> str:
        """Launch."""
        answer = tool_context.tool_confirmation
        if answer is None or answer.payload != "sure":
            tool_context.request_confirmation(hint="Sure?" if answer else "Launch?")
            return "asked"
        bank.done.append(("launch", None))
        return "launched"

    model = ScriptedModel(turns=[call("launch", "c1"), "Up."])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=[launch]))
    [first] = requests(await chat.send("go"))
    [second] = requests(await chat.confirm(first))
    assert await chat.confirm(first, payload="sure") == []
    assert texts(await chat.confirm(second, payload="sure")) == ["Up."]
    assert bank.done == [("launch", None)]


async def test_t7_a_reused_call_id_does_not_inherit_the_earlier_confirmation(bank: Bank) -> None:
    turns = [call("pay", "c1", amount=1), "Done.", call("pay", "c1", amount=2), "Done again."]
    chat = await Chat.with_agent(clerk(bank, *turns))
    [first] = requests(await chat.send("pay 1"))
    await chat.confirm(first)
    [second] = requests(await chat.send("pay 2"))
    assert bank.done == [("pay", 1)]
    await chat.confirm(second)
    assert bank.done == [("pay", 1), ("pay", 2)]


async def test_t7_a_failed_tool_ends_the_invocation_and_may_be_confirmed_again(bank: Bank) -> None:
    """No response was recorded, so the request is still open (contract T4, L5)."""
    failures = [OSError("The bank is closed.")]

    def pay(amount: int) -> str:
        """Pay."""
        if failures:
            raise failures.pop()
        return bank.pay(amount)

    model = ScriptedModel(turns=[call("pay", "c1", amount=5), "Done."])
    tool = FunctionTool(pay, require_confirmation=True)
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=[tool]))
    [asked] = requests(await chat.send("pay 5"))
    with pytest.raises(OSError, match="closed"):
        await chat.confirm(asked)
    await chat.confirm(asked)
    assert bank.done == [("pay", 5)]


async def test_t7_the_agent_that_made_the_call_handles_the_answer(bank: Bank) -> None:
    """Contract L8."""
    payer = clerk(bank, call("pay", "c1", amount=5), "Paid.", name="payer")
    root = LlmAgent(
        name="root",
        model=ScriptedModel(turns=[call("transfer_to_agent", agent_name="payer")]),
        sub_agents=[payer],
    )
    chat = await Chat.with_agent(root)
    [asked] = requests(await chat.send("pay 5"))
    events = await chat.confirm(asked)
    assert {event.author for event in events} == {"payer"}
    assert bank.done == [("pay", 5)]


async def test_r1_a_resumable_app_continues_the_invocation_with_the_rest_of_the_sequence(
    bank: Bank,
) -> None:
    payer = clerk(bank, call("pay", "c1", amount=5), "Paid.", name="payer")
    closer = clerk(bank, "Bye.", name="closer")
    chat = await Chat.with_agent(SequentialAgent(name="both", sub_agents=[payer, closer]), resumable=True)
    first = await chat.send("pay 5")
    assert texts(first) == []
    events = await chat.confirm(*requests(first))
    assert texts(events) == ["Paid.", "Bye."]
    assert {event.invocation_id for event in events} == {first[0].invocation_id}
    assert bank.done == [("pay", 5)]


async def test_r1_parallel_children_wait_for_their_own_answers(bank: Bank) -> None:
    children = [clerk(bank, call("pay", f"c{n}", amount=n), f"Paid {n}.", name=f"payer{n}") for n in (1, 2)]
    chat = await Chat.with_agent(ParallelAgent(name="both", sub_agents=children), resumable=True)
    asked = {
        call.args["originalFunctionCall"]["id"]: call
        for call in requests(await chat.send("pay"))
        if call.args
    }
    assert texts(await chat.confirm(asked["c2"])) == ["Paid 2."]
    assert bank.done == [("pay", 2)]
    assert texts(await chat.confirm(asked["c1"])) == ["Paid 1."]
    assert bank.done == [("pay", 2), ("pay", 1)]


async def test_t7_the_question_names_the_staff_who_confirm_the_calls_of_the_tool(bank: Bank) -> None:
    def refund(amount: int, tool_context: ToolContext) -> str:
        """Refund."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Refund?")
        return "asked"

    rule = "staff:shop.approve_refund"
    tools = [
        FunctionTool(bank.pay, require_confirmation=True, confirmed_by=rule),
        FunctionTool(refund, confirmed_by=rule),
    ]
    for name in ("pay", "refund"):
        agent = LlmAgent(name="clerk", model=ScriptedModel(turns=[call(name, amount=5)]), tools=tools)
        [asked] = requests(await (await Chat.with_agent(agent)).send(name))
        assert (asked.args or {})["toolConfirmation"]["confirmedBy"] == rule
    assert bank.done == []


async def test_t7_only_calls_above_the_threshold_of_the_author_wait_for_staff(bank: Bank) -> None:
    rule = "staff:shop.approve_payment"
    tool = FunctionTool(bank.pay, require_confirmation=lambda amount: amount > 100, confirmed_by=rule)
    turns = [[call("pay", "c1", amount=100), call("pay", "c2", amount=101)]]
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=ScriptedModel(turns=turns), tools=[tool]))
    [asked] = requests(await chat.send("pay"))
    assert bank.done == [("pay", 100)]
    assert (asked.args or {})["originalFunctionCall"]["args"] == {"amount": 101}
    assert (asked.args or {})["toolConfirmation"]["confirmedBy"] == rule


async def test_t7_the_model_reads_the_reason_of_a_rejection(bank: Bank) -> None:
    chat = await Chat.with_agent(clerk(bank, call("pay", "c1", amount=5), "Then not."))
    [asked] = requests(await chat.send("pay 5"))
    events = await chat.send(response(asked.name or "", asked.id, {"confirmed": False, "reason": "Too much"}))
    error = "This call was rejected: it did not run. The reason: Too much"
    assert answers(events) == [("c1", {"status": "rejected", "error": error})]
    assert bank.done == []


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"confirmed_by": "finance"}, "names nobody"),
        ({"confirmed_by": "site"}, "names nobody"),
        ({"confirmed_by": "staff:shop.pay", "may_allow_for_session": True}, "Staff decide on each call"),
    ],
)
def test_t7_a_rule_that_names_no_confirmer_is_refused(
    bank: Bank, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        FunctionTool(bank.pay, require_confirmation=True, **settings)
