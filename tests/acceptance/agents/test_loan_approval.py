"""The loan: an object of a model is decided by plain code (contract A4, A5, E1, Q13)."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.acceptance.agents.loan_approval import LoanRequest, root_agent
from tests.acceptance.agents.stage import Stage


@pytest.mark.parametrize(("amount", "decision"), [(6000, "granted"), (6001, "refused")])
async def test_the_rules_decide(amount: int, decision: str) -> None:
    request = LoanRequest(amount=amount, income=2000)
    stage = Stage(root_agent, facts=[request.model_dump_json()], letter=["Dear customer"])
    await stage.open()
    events = await stage.say(f"I earn 2000 and need {amount}")
    assert [event.author for event in events] == ["facts", "rules", "letter"]
    assert events[1].invocation_id == events[0].invocation_id
    assert f"was {decision}." in stage.instruction("letter")
    assert (await stage.stored()).state["decision"] == decision
    assert stage.models["facts"].requests[0].config.response_schema is LoanRequest


async def test_facts_that_make_no_sense_end_the_invocation() -> None:
    stage = Stage(root_agent, facts=['{"amount": -1, "income": 2000}'])
    await stage.open()
    with pytest.raises(ValidationError):
        await stage.say("I need less than nothing")
    assert stage.models["letter"].requests == []
