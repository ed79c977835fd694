"""A person in the loop: the call pauses, another process resumes it, nothing runs twice (contract T5, L8, R1, Q10)."""

from __future__ import annotations

import pytest

from runtime.apps import App
from tests.acceptance.agents.reimbursement import app, resumable_app
from tests.acceptance.agents.stage import Stage, answer
from tests.fakes import call, parts_of, response_of
from tests.unit.runtime.conversation import outline

LARGE = call("ask_for_approval", "ask-1", purpose="a desk", amount=200.0)
PAID = [call("reimburse", purpose="a desk", amount=200.0), "You get 200.00 back."]


async def test_a_small_expense_is_paid_immediately() -> None:
    stage = Stage(app=app, reimbursement_agent=[call("reimburse", purpose="tea", amount=5), "Paid."])
    await stage.open()
    events = await stage.say("5 dollars for tea")
    assert events[1].get_function_responses()[0].response == {"status": "ok", "paid": "5.00 for tea"}
    assert outline(events)[-1] == "reimbursement_agent: Paid."


async def test_the_model_answers_while_the_call_is_pending_and_another_process_takes_the_response() -> None:
    stage = Stage(app=app, reimbursement_agent=[LARGE, "I asked Sean.", *PAID])
    await stage.open()
    asked = await stage.say("200 dollars for a desk")
    assert outline(asked) == [
        "reimbursement_agent: ask_for_approval()",
        "reimbursement_agent: =ask_for_approval",
        "reimbursement_agent: I asked Sean.",
    ]
    assert (asked[0].long_running_tool_ids, asked[0].is_final_response()) == ({"ask-1"}, True)

    stage.new_process()
    approved = await stage.say(answer(asked[0].get_function_calls()[0], status="approved"))
    assert outline(approved) == [
        "reimbursement_agent: reimburse()",
        "reimbursement_agent: =reimburse",
        "reimbursement_agent: You get 200.00 back.",
    ]
    assert approved[0].invocation_id != asked[0].invocation_id
    latest = stage.models["reimbursement_agent"].requests[2].contents
    assert [content.role for content in latest] == ["user", "model", "user"]
    assert response_of(parts_of(latest[-1])[0]) == {"status": "approved"}


async def test_a_resumable_app_pauses_and_resumes_the_same_invocation() -> None:
    stage = Stage(app=resumable_app, reimbursement_agent=[LARGE, "I asked Sean.", *PAID])
    await stage.open()
    asked = await stage.say("200 dollars for a desk")
    assert outline(asked) == [
        "reimbursement_agent: ask_for_approval()",
        "reimbursement_agent: =ask_for_approval",
        "reimbursement_agent: I asked Sean.",
    ]
    stage.new_process()
    approved = await stage.say(answer(asked[0].get_function_calls()[0], status="approved"))
    assert outline(approved)[-1] == "reimbursement_agent: You get 200.00 back."
    assert {event.invocation_id for event in approved} == {asked[0].invocation_id}


@pytest.mark.parametrize("tested_app", [app, resumable_app])
async def test_a_rejection_reaches_the_model(tested_app: App) -> None:
    stage = Stage(app=tested_app, reimbursement_agent=[LARGE, "I asked Sean.", "Rejected, sorry."])
    await stage.open()
    asked = await stage.say("200 dollars for a desk")
    stage.new_process()
    rejected = await stage.say(answer(asked[0].get_function_calls()[0], status="rejected"))
    assert outline(rejected) == ["reimbursement_agent: Rejected, sorry."]
    assert stage.models["reimbursement_agent"].turns == []


@pytest.mark.parametrize("tested_app", [app, resumable_app])
async def test_a_tool_that_refuses_its_input_does_not_pause(tested_app: App) -> None:
    refused = call("ask_for_approval", "ask-1", purpose="air", amount=0.0)
    stage = Stage(app=tested_app, reimbursement_agent=[refused, "That costs nothing."])
    await stage.open()
    assert outline(await stage.say("0 dollars for air"))[-1] == "reimbursement_agent: That costs nothing."
