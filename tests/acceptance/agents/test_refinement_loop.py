"""The refinement loop: critic and refiner take turns until `exit_loop` escalates (contract A5, Q9, Q11)."""

from __future__ import annotations

from runtime.events.quotation import HEADING, quote
from tests.acceptance.agents.refinement_loop import COMPLETION_PHRASE, root_agent
from tests.acceptance.agents.stage import Stage
from tests.fakes import call
from tests.unit.runtime.conversation import outline


async def test_the_loop_ends_when_the_refiner_calls_exit_loop() -> None:
    stage = Stage(
        root_agent,
        InitialWriterAgent=["A cat."],
        CriticAgent=["Give it a name.", COMPLETION_PHRASE],
        RefinerAgent=["A cat called Mia.", call("exit_loop")],
    )
    await stage.open(initial_topic="a cat")
    events = await stage.say("Write!")
    assert outline(events) == [
        "InitialWriterAgent: A cat.",
        "CriticAgent: Give it a name.",
        "RefinerAgent: A cat called Mia.",
        f"CriticAgent: {COMPLETION_PHRASE}",
        "RefinerAgent: exit_loop()",
        "RefinerAgent: =exit_loop",
    ]
    assert events[-1].actions.escalate
    assert events[-1].is_final_response()
    assert (await stage.stored()).state == {
        "initial_topic": "a cat",
        "current_document": "A cat called Mia.",
        "criticism": COMPLETION_PHRASE,
    }
    assert "A cat called Mia." in stage.instruction("CriticAgent")


async def test_the_loop_ends_after_max_iterations() -> None:
    stage = Stage(
        root_agent,
        InitialWriterAgent=["Draft 0"],
        CriticAgent=[f"Again {n}" for n in range(5)],
        RefinerAgent=[f"Draft {n}" for n in range(1, 6)],
    )
    await stage.open(initial_topic="a cat")
    assert len(await stage.say("Write!")) == 11
    assert (await stage.stored()).state["current_document"] == "Draft 5"


async def test_an_agent_with_include_contents_none_sees_the_current_turn_only() -> None:
    stage = Stage(
        root_agent,
        InitialWriterAgent=["A cat."],
        CriticAgent=["Give it a name.", COMPLETION_PHRASE],
        RefinerAgent=["A cat called Mia.", call("exit_loop")],
    )
    await stage.open(initial_topic="a cat")
    await stage.say("Write!")
    assert stage.contents("InitialWriterAgent") == ["Write!"]
    assert stage.contents("RefinerAgent", 0) == [HEADING, quote("[CriticAgent] said", "Give it a name.")]
