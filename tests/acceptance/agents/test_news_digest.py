"""The digest: custom agents drive a loop by the state and end it by escalation (contract A5, Q9, S6)."""

from __future__ import annotations

from tests.acceptance.agents.news_digest import root_agent
from tests.acceptance.agents.stage import Stage


async def test_each_headline_is_summed_up_once() -> None:
    stage = Stage(root_agent, summarizer=["Rain.", "Sun."], editor=["Weather today."])
    await stage.open(headlines=["It rains a lot", "The sun is out"])
    events = await stage.say("The news, please")
    assert events[-1].text() == "Weather today."
    assert "Sum up in five words: The sun is out" in stage.instruction("summarizer")
    assert "Introduce: ['Rain.', 'Sun.']" in stage.instruction("editor")
    state = (await stage.stored()).state
    assert (state["digest"], state["headlines"], state["headline"]) == (["Rain.", "Sun."], [], None)


async def test_without_headlines_only_the_editor_speaks() -> None:
    stage = Stage(root_agent, editor=["Nothing today."])
    await stage.open(digest=[])
    events = await stage.say("The news, please")
    assert [event.author for event in events] == ["next", "editor"]
    assert stage.models["summarizer"].requests == []
