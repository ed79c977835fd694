"""Confirmation: the call waits; a yes executes it with its recorded arguments, a no does not (contract T7, A7)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.events import Event
from tests.acceptance.agents.stage import Stage, answer, changes
from tests.acceptance.agents.time_off import root_agent
from tests.fakes import call
from tests.unit.runtime.conversation import outline

CONFIRMATION_REQUESTED = [
    "time_off_agent: reimburse()",
    "time_off_agent: =reimburse",
    "time_off_agent: adk_request_confirmation()",
]


def confirmation_request(events: list[Event]) -> Any:
    [request] = events[-1].get_function_calls()
    assert request.name == "adk_request_confirmation"
    assert events[-1].long_running_tool_ids == {request.id}
    return request


async def test_a_small_amount_needs_no_confirmation() -> None:
    stage = Stage(root_agent, time_off_agent=[call("reimburse", amount=10), "Paid."])
    await stage.open()
    assert outline(await stage.say("10 dollars"))[-1] == "time_off_agent: Paid."
    assert (await stage.stored()).state == {"paid": 10}


@pytest.mark.parametrize(
    ("confirmed", "state", "status"), [(True, {"paid": 1000}, "ok"), (False, {}, "rejected")]
)
async def test_a_large_amount_is_paid_only_after_a_yes(
    confirmed: bool, state: dict[str, int], status: str
) -> None:
    stage = Stage(root_agent, time_off_agent=[call("reimburse", amount=1000), "That is settled."])
    await stage.open()
    asked = await stage.say("1000 dollars")
    assert outline(asked) == CONFIRMATION_REQUESTED
    request = confirmation_request(asked)
    assert request.args["originalFunctionCall"]["args"] == {"amount": 1000}
    assert (await stage.stored()).state == {}

    stage.new_process()
    settled = await stage.say(answer(request, confirmed=confirmed))
    assert outline(settled) == ["time_off_agent: =reimburse", "time_off_agent: That is settled."]
    [response] = settled[0].get_function_responses()
    assert response.response is not None and response.response["status"] == status
    assert (await stage.stored()).state == changes(settled) == state
    sent = stage.models["time_off_agent"].requests[-1].contents
    names = [p.function_call.name for c in sent for p in c.parts or [] if p.function_call]
    assert names == ["reimburse"]


async def test_a_confirmation_may_carry_the_payload_that_the_tool_requested() -> None:
    stage = Stage(root_agent, time_off_agent=[call("request_time_off", days=5), "You get 3 days."])
    await stage.open()
    request = confirmation_request(await stage.say("5 days off"))
    assert request.args["toolConfirmation"]["hint"] == "Approve of the days off, all or some."
    settled = await stage.say(answer(request, confirmed=True, payload={"approved_days": 3}))
    assert settled[0].get_function_responses()[0].response == {"status": "ok", "approved_days": 3}
    assert (await stage.stored()).state == {"days_off": 3}


async def test_a_confirmation_sent_twice_executes_the_call_once() -> None:
    stage = Stage(root_agent, time_off_agent=[call("reimburse", amount=1000), "Paid."])
    await stage.open()
    request = confirmation_request(await stage.say("1000 dollars"))
    await stage.say(answer(request, confirmed=True))
    assert await stage.say(answer(request, confirmed=True)) == []
    assert (await stage.stored()).state == {"paid": 1000}
