"""The budget: three scopes of state, of which one ends with the turn (contract S4, S6, C2)."""

from __future__ import annotations

from tests.acceptance.agents.budget_tracker import root_agent
from tests.acceptance.agents.stage import Stage
from tests.fakes import call


async def test_a_warning_lasts_for_one_turn() -> None:
    stage = Stage(
        root_agent,
        budget=[
            [call("set_limit", amount=50), call("spend", amount=30, purpose="tea")],
            "20 left.",
            call("spend", amount=30, purpose="lamp"),
            "That was too much.",
            "Yes, 60.",
        ],
    )
    await stage.open()
    first = await stage.say("My limit is 50. I bought tea for 30.")
    assert first[1].get_function_responses()[1].response == {"left": 20.0}
    await stage.say("And a lamp for 30.")
    assert stage.contents("budget")[-1] == "The budget is exceeded by 10.00."
    await stage.say("60 in all?")
    assert "exceeded" not in " ".join(stage.contents("budget"))
    state = (await stage.stored()).state
    assert state["user:limit"] == 50 and len(state["expenses"]) == 2
    assert not any(key.startswith("temp:") for key in state)
