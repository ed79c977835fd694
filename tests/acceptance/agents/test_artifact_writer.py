"""The artifact writer: versions in the artifact delta, files of a session and of a user (contract F1, F2, T9)."""

from __future__ import annotations

from tests.acceptance.agents.artifact_writer import root_agent
from tests.acceptance.agents.stage import USER, Stage
from tests.fakes import call


async def test_each_write_is_recorded_as_a_version_in_its_event() -> None:
    stage = Stage(
        root_agent,
        note_keeper=[
            call("write_note", filename="tea.txt", text="green"),
            "Noted.",
            [
                call("write_note", filename="tea.txt", text="black"),
                call("write_note", filename="user:me.txt", text="Ada"),
            ],
            "Noted, both.",
        ],
    )
    await stage.open()
    first = await stage.say("Tea: green")
    assert first[1].actions.artifact_delta == {"tea.txt": 0}
    second = await stage.say("Tea: black, and my name")
    assert second[1].actions.artifact_delta == {"tea.txt": 1, "user:me.txt": 0}
    assert [r.response for r in second[1].get_function_responses()] == [
        {"filename": "tea.txt", "version": 1},
        {"filename": "user:me.txt", "version": 0},
    ]
    assert "The last one was tea.txt." in stage.instruction("note_keeper", 1)
    versions = [
        await stage.artifacts.load_artifact(
            app_name="stage", user_id=USER, session_id="s1", filename="tea.txt", version=version
        )
        for version in (0, 1, None)
    ]
    blobs = [part.inline_data for part in versions if part]
    assert [blob and blob.data for blob in blobs] == [b"green", b"black", b"black"]


async def test_a_file_of_the_user_can_be_read_in_another_session() -> None:
    stage = Stage(
        root_agent,
        note_keeper=[
            [
                call("write_note", filename="tea.txt", text="green"),
                call("write_note", filename="user:me.txt", text="Ada"),
            ],
            "Noted.",
            call("list_notes"),
            call("load_artifacts", artifact_names=["user:me.txt"]),
            "You are Ada.",
        ],
    )
    await stage.open("s1")
    await stage.open("s2")
    await stage.say("Tea: green, and I am Ada", "s1")
    events = await stage.say("Who am I?", "s2")
    assert events[1].get_function_responses()[0].response == {"result": ["user:me.txt"]}
    parts = [part for c in stage.models["note_keeper"].requests[-1].contents for part in c.parts or []]
    assert b"Ada" in [part.inline_data.data for part in parts if part.inline_data]
    assert events[-1].text() == "You are Ada."
    assert (await stage.stored("s2")).state == {}
