"""The travel planner: agents as tools with schemas, called in parallel (contract T6, Q12, T2)."""

from __future__ import annotations

from tests.acceptance.agents.stage import Stage
from tests.acceptance.agents.travel_planner import root_agent
from tests.fakes import call

ROME = {"city": "Rome", "days": 3}


async def test_both_experts_answer_one_step() -> None:
    stage = Stage(
        root_agent,
        planner=[[call("sights", **ROME), call("costs", **ROME)], "Three days, 600 EUR."],
        sights=["The Forum."],
        costs=['{"total": 600}'],
    )
    await stage.open(**{"user:likes": "ruins"})
    _, answers, last = await stage.say("Three days in Rome?")
    assert [answer.response for answer in answers.get_function_responses()] == [
        {"result": "The Forum."},
        {"total": 600, "currency": "EUR"},
    ]
    assert "The person likes ruins." in stage.instruction("sights")
    assert stage.contents("costs") == ['{"city":"Rome","days":3}']
    assert (await stage.stored()).state["sights"] == "The Forum."
    assert last.text() == "Three days, 600 EUR."


async def test_a_trip_of_no_days_never_reaches_the_expert() -> None:
    stage = Stage(root_agent, planner=[call("costs", city="Rome", days=0), "At least one day."])
    await stage.open()
    _, answer, _ = await stage.say("No days in Rome?")
    [response] = answer.get_function_responses()
    assert response.response and "days" in response.response["error"]
    assert stage.models["costs"].requests == []
