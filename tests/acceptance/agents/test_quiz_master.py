"""The quiz: a custom agent keeps its place in the state between messages (contract A1, L8, S6)."""

from __future__ import annotations

from tests.acceptance.agents.quiz_master import root_agent
from tests.acceptance.agents.stage import Stage
from tests.unit.runtime.conversation import outline


async def test_a_quiz_goes_on_over_messages_and_processes() -> None:
    stage = Stage(root_agent, commentator=["Half right is half wrong."])
    await stage.open()
    assert outline(await stage.say("Let us play")) == ["quiz: Capital of France?"]
    stage.new_process()
    assert outline(await stage.say("It is Paris!")) == ["quiz: 2 + 2?"]
    assert outline(await stage.say("Five")) == ["quiz: 1 of 2.", "commentator: Half right is half wrong."]
    assert "a score of 1" in stage.instruction("commentator")
    assert outline(await stage.say("Again")) == ["quiz: Capital of France?"]
