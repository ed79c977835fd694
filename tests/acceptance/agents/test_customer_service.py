"""Customer service: callbacks that edit arguments and limit calls, `temp:` state (contract C2, C3, Q5, S4)."""

from __future__ import annotations

from tests.acceptance.agents.customer_service import root_agent
from tests.acceptance.agents.stage import Stage
from tests.fakes import call, parts_of, response_of


async def test_a_discount_is_capped_and_the_call_keeps_the_words_of_the_model() -> None:
    stage = Stage(root_agent, service=[call("give_discount", percent=50), "You get 10 % off."])
    await stage.open()
    _, asked, given, _ = await stage.say("My parcel was late")
    assert asked.get_function_calls()[0].args == {"percent": 50}
    assert given.get_function_responses()[0].response == {"discount": 10}
    assert "The customer: {'name': 'Ada', 'since': 2019}" in stage.instruction("service")
    state = (await stage.stored()).state
    assert state["discount"] == 10 and "temp:calls" not in state


async def test_the_fourth_call_of_a_turn_is_refused_and_the_next_turn_counts_anew() -> None:
    calls = [call("find_order", order_id=str(number)) for number in range(4)]
    stage = Stage(root_agent, service=[calls, "Three found.", call("find_order", order_id="4"), "Shipped."])
    await stage.open()
    events = await stage.say("Where are my orders?")
    answers = [response_of(part) for part in parts_of(events[2].content)]
    assert [answer.get("status") for answer in answers] == ["shipped", "shipped", "shipped", None]
    later = await stage.say("And the fifth?")
    assert later[2].get_function_responses()[0].response == {"order_id": "4", "status": "shipped"}
