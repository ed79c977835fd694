"""The story flow: a custom agent that runs others and reads the state that they commit (contract A1, A5, L3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.agents.stage import Stage
from tests.acceptance.agents.story_flow import root_agent

ROUNDS = ["StoryGenerator", "Critic", "Reviser", "Critic", "Reviser", "GrammarCheck", "ToneCheck"]


def scripts(tone: str) -> dict[str, Any]:
    return {
        "StoryGenerator": ["Story 1", "Story 4"],
        "Critic": ["Dull.", "Still dull."],
        "Reviser": ["Story 2", "Story 3"],
        "GrammarCheck": ["Fine."],
        "ToneCheck": [tone],
    }


@pytest.mark.parametrize(
    ("tone", "authors", "story"),
    [("positive", ROUNDS, "Story 3"), ("negative", [*ROUNDS, "StoryGenerator"], "Story 4")],
)
async def test_a_negative_tone_makes_the_agent_rewrite_the_story(
    tone: str, authors: list[str], story: str
) -> None:
    stage = Stage(root_agent, **scripts(tone))
    await stage.open(topic="a brave kitten")
    events = await stage.say("Write a story")
    assert [event.author for event in events] == authors
    assert (await stage.stored()).state == {
        "topic": "a brave kitten",
        "current_story": story,
        "criticism": "Still dull.",
        "grammar_suggestions": "Fine.",
        "tone_check_result": tone,
    }
    assert "about a brave kitten" in stage.instruction("StoryGenerator")
    assert "Revise this story: Story 2" in stage.instruction("Reviser")


async def test_without_a_story_the_other_agents_do_not_run() -> None:
    stage = Stage(root_agent, StoryGenerator=[""])
    await stage.open(topic="nothing")
    assert [event.author for event in await stage.say("Write a story")] == ["StoryGenerator"]
