"""SaveFilesAsArtifactsPlugin and `save_input_blobs`: files in a message become artifacts (contract L10, F1, F2, Q6)."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.artifacts.borrowed_artifact_service import SessionArgs
from runtime.artifacts.in_memory_artifact_service import InMemoryArtifactService
from runtime.artifacts.input_blobs import save_input_blobs
from runtime.context import InvocationContext
from runtime.errors import ConfigurationError, PluginError
from runtime.plugins import BasePlugin, SaveFilesAsArtifactsPlugin
from runtime.runners import InMemoryRunner
from tests.fakes import ScriptedModel, parts_of, say
from tests.unit.runtime.conversation import Conversation

OWNER: SessionArgs = {"app_name": "shop", "user_id": "ada", "session_id": "s1"}


def file(data: bytes, name: str | None = None) -> types.Part:
    return types.Part(inline_data=types.Blob(data=data, mime_type="text/plain", display_name=name))


def message(*parts: types.Part) -> types.Content:
    return types.Content(role="user", parts=list(parts))


def conversation() -> Conversation:
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=["Got it.", "Again."]))
    return Conversation(agent, plugins=[SaveFilesAsArtifactsPlugin()])


async def test_files_are_stored_and_replaced_by_their_names_in_the_message() -> None:
    talk = conversation()
    sent = message(types.Part(text="Look:"), file(b"abc", "notes.txt"), types.Part(text="Well?"))
    events = await talk.say(sent)
    session = await talk.session()
    assert [part.text for part in parts_of(session.events[0].content)] == [
        "Look:",
        "[A file was uploaded; it is saved as the artifact 'notes.txt'.]",
        "Well?",
    ]
    assert talk.runner.artifact_service is not None
    stored = await talk.runner.artifact_service.load_artifact(
        app_name="shop", user_id="ada", session_id=session.id, filename="notes.txt"
    )
    assert stored == types.Part(inline_data=types.Blob(data=b"abc", mime_type="text/plain"))
    assert parts_of(sent)[1] == file(b"abc", "notes.txt"), "the caller's message is not changed"
    assert events[-1].text() == "Got it."


async def test_f2_the_versions_are_recorded_once_in_an_event_of_the_agent() -> None:
    talk = conversation()
    await talk.say(message(file(b"a", "a.txt")))
    await talk.say(message(file(b"b", "a.txt"), file(b"c", "user:c.txt")))
    deltas = [event.actions.artifact_delta for event in (await talk.session()).events]
    assert [delta for delta in deltas if delta] == [{"a.txt": 0}, {"a.txt": 1, "user:c.txt": 0}]


async def test_a_message_without_files_is_not_changed() -> None:
    talk = conversation()
    await talk.say("Hi")
    assert [event.text() for event in (await talk.session()).events] == ["Hi", "Got it."]


async def test_a_nameless_file_is_named_after_the_invocation_and_its_position() -> None:
    service = InMemoryArtifactService()
    saved = await save_input_blobs(service, OWNER, message(types.Part(text="x"), file(b"a")), "e-7")
    assert saved.artifact_delta == {"artifact_e-7_1": 0}
    assert await service.list_artifact_keys(**OWNER) == ["artifact_e-7_1"]


async def test_two_files_with_the_same_name_are_two_versions() -> None:
    service = InMemoryArtifactService()
    saved = await save_input_blobs(service, OWNER, message(file(b"a", "n"), file(b"b", "n")), "e-7")
    assert saved.artifact_delta == {"n": 1}
    assert await service.list_versions(**OWNER, filename="n") == [0, 1]


async def test_without_an_artifact_service_only_messages_with_files_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="artifact_service"):
        await save_input_blobs(None, OWNER, message(file(b"a")), "e-7")
    plain = message(types.Part(text="Hi"))
    assert (await save_input_blobs(None, OWNER, plain, "e-7")).content == plain


async def test_q6_the_error_for_a_missing_artifact_service_names_the_plugin() -> None:
    talk = conversation()
    talk.runner.artifact_service = None
    with pytest.raises(PluginError, match=r"save_files_as_artifacts_plugin.*artifact_service"):
        await talk.say(message(file(b"a")))


async def test_f2_versions_of_a_failed_invocation_are_not_recorded_by_another_one() -> None:
    """The second invocation has the same id, in another session."""

    class FailsOnce(BasePlugin):
        async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
            if invocation_context.user_content != say("Hi"):
                raise LookupError("not today")

    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=["Hello."]))
    runner = InMemoryRunner(
        agent, app_name="shop", plugins=[SaveFilesAsArtifactsPlugin(), FailsOnce("fails_once")]
    )
    for session_id in ("one", "two"):
        await runner.session_service.create_session(app_name="shop", user_id="ada", session_id=session_id)
    with pytest.raises(PluginError, match="not today"):
        first = runner.run_async(
            user_id="ada", session_id="one", invocation_id="e-1", new_message=message(file(b"a", "a.txt"))
        )
        assert [event.error_code async for event in first] == ["PluginError"]
    run = runner.run_async(user_id="ada", session_id="two", invocation_id="e-1", new_message=say("Hi"))
    assert [(event.text(), event.actions.artifact_delta) async for event in run] == [("Hello.", {})]
