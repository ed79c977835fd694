"""Contract F5: files in an agent's answer become artifacts, and the model gets them back in the next request."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from runtime import types
from runtime.agents import BaseAgent, LlmAgent
from runtime.artifacts import referenced_artifacts
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.context import InvocationContext
from runtime.events import Event
from runtime.models import LlmResponse
from runtime.run_config import RunConfig, StreamingMode
from runtime.runners import Runner
from runtime.sessions import InMemorySessionService
from runtime.tools import AgentTool
from tests.fakes import ScriptedModel, call, parts_of, say
from tests.unit.runtime.conversation import Conversation, requests_to, response_of

PNG = b"\x89PNG\r\n\x1a\n"


def picture(
    data: bytes = PNG, mime_type: str | None = "image/png", name: str | None = None, **fields: object
) -> types.Part:
    blob = types.Blob(data=data, mime_type=mime_type, display_name=name)
    return types.Part.model_validate({"inline_data": blob, **fields})


def painter(*turns: list[types.Part] | types.Part | str | LlmResponse) -> LlmAgent:
    return LlmAgent(name="painter", model=ScriptedModel(turns=list(turns)))


def references_in(event: Event) -> list[ArtifactReference]:
    return [found for part in parts_of(event.content) if (found := ArtifactReference.of_part(part))]


async def saved(talk: Conversation, reference: ArtifactReference) -> types.Part | None:
    assert talk.runner.artifact_service is not None
    session = await talk.session()
    return await talk.runner.artifact_service.load_artifact(
        app_name="shop",
        user_id="ada",
        session_id=session.id,
        filename=reference.filename,
        version=reference.version,
    )


def sent(agent: LlmAgent, request: int = 1) -> list[types.Content]:
    return requests_to(agent)[request].contents


@pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE])
async def test_a_picture_is_saved_once_and_sent_back_as_the_model_made_it(mode: StreamingMode) -> None:
    agent = painter([types.Part(text="A cat:"), picture(thought_signature=b"signed")], "You are welcome.")
    talk = Conversation(agent)
    (event,) = await talk.say("Draw a cat.", RunConfig(streaming_mode=mode))
    text, file = parts_of(event.content)
    name = f"painter-{event.id[-8:]}-1.png"
    assert text.text == "A cat:" and file.thought_signature == b"signed"
    assert references_in(event) == [ArtifactReference(name, 0, "image/png")]
    assert event.actions.artifact_delta == {name: 0}
    assert 'inline_data":{' not in (await talk.session()).events[-1].model_dump_json()
    assert await saved(talk, references_in(event)[0]) == picture()
    await talk.say("Thank you.")
    shown = [part for content in sent(agent) if content.role == "model" for part in content.parts or []]
    assert shown == [types.Part(text="A cat:"), picture(thought_signature=b"signed")]


async def test_twenty_pictures_are_twenty_artifacts_in_their_order() -> None:
    agent = painter([picture(bytes([number])) for number in range(20)], "Twenty.")
    talk = Conversation(agent)
    (event,) = await talk.say("Draw.")
    references = references_in(event)
    assert len(event.actions.artifact_delta) == len({found.filename for found in references}) == 20
    await talk.say("How many?")
    assert [part.inline_data and part.inline_data.data for part in parts_of(sent(agent)[1])] == [
        bytes([number]) for number in range(20)
    ]


async def test_a_picture_that_does_not_fit_is_named_and_keeps_its_signature() -> None:
    big = bytes(10_000_000)
    agent = painter([picture(big, thought_signature=b"1"), picture(big, thought_signature=b"2")], "Big.")
    talk = Conversation(agent)
    (event,) = await talk.say("Draw.")
    assert len(event.model_dump_json()) < 3000
    await talk.say("How big?")
    first, second = parts_of(sent(agent)[1])
    assert first.inline_data and first.inline_data.data == big
    assert second.text and "not shown here" in second.text and second.thought_signature == b"2"


async def test_sound_is_saved_and_named() -> None:
    agent = painter(picture(b"RIFF", "audio/wav; rate=24000", "song.wav"), "La.")
    talk = Conversation(agent)
    (event,) = await talk.say("Sing.")
    assert references_in(event) == [ArtifactReference("song.wav", 0, "audio/wav")]
    await talk.say("Again?")
    (part,) = parts_of(sent(agent)[1])
    assert part.text == "[The file 'song.wav' (audio/wav) is an artifact of this name, not shown here.]"


@pytest.mark.parametrize(
    ("mime_type", "name", "kept", "kept_type"),
    [
        (None, "../a\0.png", ".._a_.png", "application/octet-stream"),
        ("not a type", None, "-1.bin", "application/octet-stream"),
        ("IMAGE/PNG", "user:cat.png", "user_cat.png", "image/png"),
    ],
)
async def test_names_and_types_are_made_valid(
    mime_type: str | None, name: str | None, kept: str, kept_type: str
) -> None:
    (event,) = await Conversation(painter(picture(mime_type=mime_type, name=name))).say("Draw.")
    (reference,) = references_in(event)
    assert reference.filename.endswith(kept) and reference.mime_type == kept_type


async def test_drafts_in_thoughts_and_empty_files_are_left_out() -> None:
    agent = painter([picture(b"draft", thought=True), types.Part(text="Here:"), picture(b""), picture()])
    (event,) = await Conversation(agent).say("Draw.")
    text, _ = parts_of(event.content)
    assert text.text == "Here:" and len(event.actions.artifact_delta) == 1


@pytest.mark.parametrize("part", [picture(b""), picture(thought=True)])
async def test_no_file_but_an_empty_one_or_a_draft_is_no_answer(part: types.Part) -> None:
    """Contract E7."""
    ending = LlmResponse(content=types.ModelContent([part]), finish_reason=types.FinishReason.STOP)
    (event,) = await Conversation(painter(ending)).say("Draw.")
    assert event.error_code == "MODEL_RETURNED_NO_CONTENT"
    assert not event.actions.artifact_delta


async def test_a_file_of_an_agent_without_a_model_is_saved() -> None:
    class Camera(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author=self.name, content=types.ModelContent(picture(name="photo.png")))

    (event,) = await Conversation(Camera(name="camera")).say("Click.")
    assert event.actions.artifact_delta == {"photo.png": 0}


async def test_another_agent_is_shown_the_picture_without_its_signature() -> None:
    critic = LlmAgent(name="critic", model=ScriptedModel(turns=["A fine cat."]))
    turn = [picture(name="cat.png", thought_signature=b"1"), call("transfer_to_agent", agent_name="critic")]
    agent = painter(turn)
    agent.sub_agents = [critic]
    critic.parent_agent = agent
    await Conversation(agent).say("Draw, and ask the critic.")
    shown = [part for content in requests_to(critic)[0].contents for part in content.parts or []]
    assert types.Part(text="The file 'cat.png':") in shown and picture() in shown


async def test_a_picture_of_an_agent_that_runs_as_a_tool_is_shown_to_its_caller() -> None:
    """Contract T6: image models call no tools, so an agent that does calls them as a tool."""
    tool = AgentTool(painter([types.Part(text="A cat."), picture(name="cat.png")]))
    model = ScriptedModel(turns=[call("painter", request="a cat"), "Here is your cat."])
    agent = LlmAgent(name="clerk", model=model, tools=[tool])
    talk = Conversation(agent)
    events = await talk.say("Draw a cat.")
    file = {"mimeType": "image/png", "file": "cat.png", "version": 0}
    assert response_of(events[1]) == {"result": "A cat.", "files": [file]}
    assert events[1].actions.artifact_delta == {"cat.png": 0}
    assert picture() in parts_of(sent(agent)[-1])


async def test_the_picture_of_a_final_tool_is_said_with_its_text_only() -> None:
    tool = AgentTool(painter([types.Part(text="A cat."), picture()]), skip_summarization=True)
    agent = LlmAgent(
        name="clerk", model=ScriptedModel(turns=[call("painter", request="a cat")]), tools=[tool]
    )
    events = await Conversation(agent).say("Draw a cat.")
    assert events[-1].text() == "A cat." and events[-1].actions.artifact_delta


async def test_a_deleted_picture_is_named() -> None:
    agent = painter(picture(name="cat.png"), "A cat.")
    talk = Conversation(agent)
    await talk.say("Draw.")
    assert talk.runner.artifact_service is not None
    session = await talk.session()
    await talk.runner.artifact_service.delete_artifact(
        app_name="shop", user_id="ada", session_id=session.id, filename="cat.png"
    )
    await talk.say("What was it?")
    assert parts_of(sent(agent)[1])[0].text == "[The file 'cat.png' does not exist any more.]"


async def test_no_file_is_read_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referenced_artifacts, "MAX_BYTES", len(PNG))
    agent = painter(picture(), picture(), "Two.")
    talk = Conversation(agent)
    await talk.say("Draw.")
    await talk.say("Another.")
    await talk.say("How many?")
    is_shown = [
        bool(parts_of(content)[0].inline_data) for content in sent(agent, 2) if content.role == "model"
    ]
    assert is_shown == [False, True]


async def test_without_an_artifact_service_the_data_stay_in_the_event() -> None:
    sessions = InMemorySessionService()
    runner = Runner(agent=painter(picture()), app_name="shop", session_service=sessions)
    session = await sessions.create_session(app_name="shop", user_id="ada")
    run = runner.run_async(user_id="ada", session_id=session.id, new_message=say("Draw."))
    (event,) = [event async for event in run]
    assert parts_of(event.content) == [picture()]
