"""The language tutor: examples in the instruction, an agent as a tool, user state (contract T6, T9, S4)."""

from __future__ import annotations

from tests.acceptance.agents.language_tutor import root_agent
from tests.acceptance.agents.stage import Stage
from tests.fakes import call


async def test_an_exercise_is_marked_and_the_points_add_up() -> None:
    stage = Stage(
        root_agent,
        teacher=[
            call("marker", request="I will go tomorrow."),
            call("record_points", points="9"),
            "Well done: 9 points.",
            call("record_points", points=1),
            "10 in all.",
        ],
        marker=["9"],
    )
    await stage.open("s1", **{"user:points": 0})
    await stage.open("s2")
    events = await stage.say("I will go tomorrow.", "s1")
    assert events[1].get_function_responses()[0].response == {"result": "9"}
    assert stage.contents("marker") == ["I will go tomorrow."]
    later = await stage.say("One more point?", "s2")
    assert later[1].get_function_responses()[0].response == {"result": 10}
    assert "I *went* home" in stage.instruction("teacher")
