"""The tutor: plan and reasoning are thoughts, only the answer is kept and shown (contract A2, A4)."""

from __future__ import annotations

from runtime import types
from tests.acceptance.agents.stage import Stage
from tests.acceptance.agents.study_planner import root_agent
from tests.fakes import call, parts_of


async def test_plan_and_reasoning_are_thoughts() -> None:
    stage = Stage(
        root_agent,
        tutor=[
            [
                types.Part(text="/*PLANNING*/ 1. Count. 2. Schedule."),
                call("count_chapters", subject="algebra"),
            ],
            [types.Part(text="/*REASONING*/ Four weeks."), call("schedule", subject="algebra", weeks=4)],
            "/*REASONING*/ All done. /*FINAL_ANSWER*/ Four weeks of algebra.",
        ],
    )
    await stage.open()
    events = await stage.say("I want to learn algebra")
    assert [part.thought for part in parts_of(events[0].content)] == [True, None]
    assert events[-1].text().strip() == "Four weeks of algebra."
    state = (await stage.stored()).state
    assert state["timetable"] == {"algebra": 4}
    assert state["advice"].strip() == "Four weeks of algebra."
    assert "/*FINAL_ANSWER*/" in stage.instruction("tutor")
