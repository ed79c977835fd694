"""The moderated chat: a plugin guards all agents of the app (contract C4, Q6)."""

from __future__ import annotations

from tests.acceptance.agents.moderated_chat import app
from tests.acceptance.agents.stage import Stage
from tests.fakes import call


async def test_a_forbidden_word_reaches_no_model() -> None:
    stage = Stage(app=app)
    await stage.open()
    [refusal] = await stage.say("Buy SPAM now")
    assert refusal.text() == "Please be kind."
    assert stage.models["host"].requests == []


async def test_numbers_are_hidden_in_the_answers_of_every_agent() -> None:
    stage = Stage(
        app=app,
        host=[call("transfer_to_agent", agent_name="helper")],
        helper=["Call Bert: +49 341 1234567.", "As I said."],
    )
    await stage.open()
    assert (await stage.say("How do I reach Bert?"))[-1].text() == "Call Bert: …."
    await stage.say("Say again")
    assert "341" not in " ".join(stage.contents("helper"))
    assert (await stage.stored()).state == {"hidden": 1}
