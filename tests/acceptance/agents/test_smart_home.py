"""The smart home: a toolset that depends on the state, sync and async tools in one step (contract T2, Q14, T4)."""

from __future__ import annotations

from tests.acceptance.agents.smart_home import root_agent
from tests.acceptance.agents.stage import Stage
from tests.fakes import call


async def test_commands_of_one_step_run_together() -> None:
    commands = [
        call("home_switch_light", room="kitchen", on=True),
        call("home_set_heating", celsius=21),
        call("home_switch_light", room="hall", on=False),
    ]
    stage = Stage(root_agent, butler=[commands, "Done."])
    await stage.open()
    _, answers, _ = await stage.say("Light in the kitchen, dark in the hall, 21 degrees")
    assert [answer.name for answer in answers.get_function_responses()] == [
        c.function_call.name for c in commands if c.function_call
    ]
    assert (await stage.stored()).state == {"light_kitchen": True, "heating": 21.0, "light_hall": False}


async def test_a_child_cannot_unlock_the_door() -> None:
    stage = Stage(root_agent, butler=[call("home_unlock_door"), "Ask your parents."])
    await stage.open(**{"user:role": "child"})
    events = await stage.say("Open the door")
    assert "home_unlock_door" not in stage.models["butler"].requests[0].tools_dict
    refused = events[1].get_function_responses()[0].response
    assert refused and "error" in refused
