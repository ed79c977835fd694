"""The blog post: parallel sections read the outline; a callback publishes (contract A5, C2, F2)."""

from __future__ import annotations

from tests.acceptance.agents.blog_writer import root_agent
from tests.acceptance.agents.stage import USER, Stage
from tests.fakes import parts_of


async def test_a_post_is_written_in_parts_and_saved() -> None:
    stage = Stage(
        root_agent,
        outliner=["1. Rain 2. Sun"],
        opening=["It rained."],
        ending=["The sun came."],
        editor=["Weather."],
    )
    await stage.open()
    events = await stage.say("Write about the weather")
    assert {event.branch for event in events} == {None, "sections.opening", "sections.ending"}
    assert "Join both: It rained. / The sun came." in stage.instruction("editor")
    assert "The sun came." not in " ".join(stage.contents("opening"))
    assert events[-1].text() == "Saved as post.md, version 0."
    assert events[-1].actions.artifact_delta == {"post.md": 0}
    saved = await stage.artifacts.load_artifact(
        app_name="stage", user_id=USER, session_id="s1", filename="post.md"
    )
    assert saved is not None and saved.text == "Weather."
    assert parts_of(events[-2].content)[0].text == "Weather."
