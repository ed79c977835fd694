"""The checked translation: a loop in a sequence, ended by `exit_loop` (contract A5, Q9, Q11, A4)."""

from __future__ import annotations

from tests.acceptance.agents.stage import Stage
from tests.acceptance.agents.translation_check import root_agent
from tests.fakes import call


async def test_the_translation_is_mended_until_the_check_is_content() -> None:
    stage = Stage(
        root_agent,
        translator=["Ich bin heiß."],
        checker=["It says: I am attractive.", call("exit_loop")],
        mender=["Mir ist heiß."],
    )
    await stage.open(language="German")
    events = await stage.say("I am hot.")
    assert [event.author for event in events] == ["translator", "checker", "mender", "checker", "checker"]
    state = (await stage.stored()).state
    assert state["translation"] == "Mir ist heiß."
    assert stage.instruction("mender").startswith("Mend Ich bin heiß.. Mistakes: It says")
    assert "Is this natural German? Mir ist heiß." in stage.instruction("checker")


async def test_the_loop_gives_up_after_three_rounds() -> None:
    stage = Stage(root_agent, translator=["a"], checker=["bad", "bad", "bad"], mender=["b", "c", "d"])
    await stage.open(language="German")
    events = await stage.say("I am hot.")
    assert len(events) == 7
    assert (await stage.stored()).state["translation"] == "d"
