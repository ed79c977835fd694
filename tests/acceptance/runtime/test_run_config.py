"""Spec L10: the settings of an invocation that are neither streaming nor a limit."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.errors import ConfigurationError
from runtime.run_config import RunConfig, StreamingMode
from runtime.tools import load_artifacts
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, outline

FILE = types.Part(inline_data=types.Blob(data=b"abc", mime_type="text/plain", display_name="notes.txt"))
MESSAGE = types.Content(role="user", parts=[types.Part(text="Look:"), FILE])
SAVING = RunConfig(save_input_blobs_as_artifacts=True)


def clerk() -> LlmAgent:
    turns = [call("load_artifacts", artifact_names=["notes.txt"]), "seen"]
    return LlmAgent(name="clerk", model=ScriptedModel(turns=turns), tools=[load_artifacts])


async def test_files_of_the_message_become_artifacts_that_are_named_in_their_place() -> None:
    """F2: the message's event records them, and the agent can load them."""
    agent = clerk()
    conversation = Conversation(agent)
    assert outline(await conversation.say(MESSAGE, SAVING))[-1] == "clerk: seen"
    message = (await conversation.session()).events[0]
    assert message.actions.artifact_delta == {"notes.txt": 0}
    assert [part.text for part in message.content.parts] == [
        "Look:",
        "[A file was uploaded; it is saved as the artifact 'notes.txt'.]",
    ]
    first, second = agent.model.requests
    assert b"abc" not in blobs(first.contents) and b"abc" in blobs(second.contents)
    assert MESSAGE.parts[1] is FILE, "the caller's message stays"


async def test_without_the_setting_the_model_is_sent_the_files() -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=["seen"]))
    conversation = Conversation(agent)
    await conversation.say(MESSAGE)
    assert blobs(agent.model.requests[0].contents) == [b"abc"]
    assert (await conversation.session()).events[0].actions.artifact_delta == {}


async def test_files_that_no_service_can_keep_are_refused() -> None:
    conversation = Conversation(clerk())
    conversation.runner.artifact_service = None
    with pytest.raises(ConfigurationError, match="artifact_service"):
        await conversation.say(MESSAGE, SAVING)
    assert (await conversation.session()).events == []


def test_live_streaming_is_refused_and_says_what_there_is() -> None:
    with pytest.raises(ValueError, match=r"BIDI needs live sessions.* Use SSE"):
        RunConfig(streaming_mode=StreamingMode.BIDI)


def blobs(contents: list[types.Content]) -> list[bytes | None]:
    parts = (part for content in contents for part in content.parts or [])
    return [part.inline_data.data for part in parts if part.inline_data]
