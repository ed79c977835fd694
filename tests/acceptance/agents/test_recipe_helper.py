"""The kitchen helper: a list changed in place, user state in a second session (contract S4, S5, C3)."""

from __future__ import annotations

from tests.acceptance.agents.recipe_helper import root_agent
from tests.acceptance.agents.stage import Stage
from tests.fakes import call


async def test_the_list_grows_in_place_and_the_diet_follows_the_person() -> None:
    stage = Stage(
        root_agent,
        cook=[
            [call("add_to_list", items=["tofu", "rice"]), call("set_diet", diet="vegan")],
            "Tofu and rice.",
            call("add_to_list", items=["rice", "lime"]),
            "And a lime.",
            "Vegan as always.",
        ],
    )
    await stage.open("monday")
    await stage.open("tuesday")
    await stage.say("Something with tofu. I am vegan.", "monday")
    events = await stage.say("I need lime and rice", "monday")
    assert events[-2].get_function_responses()[0].response == {"result": ["tofu", "rice", "lime"]}
    await stage.say("And today?", "tuesday")
    assert stage.instruction("cook").startswith("Suggest vegan recipes. On the shopping list: ")
    assert "tofu" not in stage.instruction("cook")
    monday, tuesday = await stage.stored("monday"), await stage.stored("tuesday")
    assert monday.state == {"shopping": ["tofu", "rice", "lime"], "user:diet": "vegan", "user:visits": 3}
    assert tuesday.state == {"user:diet": "vegan", "user:visits": 3}
