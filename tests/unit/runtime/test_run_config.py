"""RunConfig: settings of an invocation (contract L10)."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.errors import LlmCallsLimitExceededError
from runtime.run_config import RunConfig
from runtime.runners import InMemoryRunner
from tests.fakes import ScriptedModel, call, say
from tests.unit.runtime.conversation import Conversation, requests_to


def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} is a word"


async def test_model_calls_of_an_interrupted_attempt_are_counted() -> None:
    model = ScriptedModel(turns=[call("look_up", word="ant"), "Never said."])
    runner = InMemoryRunner(LlmAgent(name="clerk", model=model, tools=[look_up]), app_name="t")
    session = await runner.session_service.create_session(app_name="t", user_id="u")
    config = RunConfig(max_llm_calls=3, llm_calls_before=2)
    run = runner.run_async(user_id="u", session_id=session.id, new_message=say("go"), run_config=config)
    with pytest.raises(LlmCallsLimitExceededError):
        async for _ in run:
            pass
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"response_modalities": ["AUDIO"], "speech_config": types.SpeechConfig()},
        {"output_audio_transcription": types.AudioTranscriptionConfig(), "save_live_blob": True},
        {"include_thoughts_from_other_agents": True, "support_cfc": True},
    ],
)
def test_settings_that_have_no_effect_are_accepted_and_named_in_a_warning(
    settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Contract L10."""
    RunConfig()
    assert caplog.text == ""
    RunConfig(**settings)
    [warning] = caplog.messages
    assert all(name in warning for name in settings)


def test_a_limit_of_model_calls_that_limits_nothing_is_refused_or_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Contract L10."""
    with pytest.raises(ValueError, match=f"should be less than {sys.maxsize}"):
        RunConfig(max_llm_calls=sys.maxsize)
    assert RunConfig(max_llm_calls=0).max_llm_calls == 0
    assert "max_llm_calls is 0" in caplog.text


async def test_options_and_labels_of_the_run_win_over_those_of_the_agent() -> None:
    """Contract L10."""
    own = types.GenerateContentConfig(
        labels={"team": "shop", "env": "test"},
        http_options=types.HttpOptions(base_url="http://own", timeout=1, headers={"A": "own", "B": "own"}),
    )
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=["Hi.", "Hi."]), generate_content_config=own)
    given = types.HttpOptions(base_url="http://given", timeout=2, headers={"A": "given"})
    conversation = Conversation(agent)
    await conversation.say("Hi", RunConfig(labels={"env": "live"}, http_options=given))
    await conversation.say("Hi")
    first, second = (request.config for request in requests_to(agent))
    assert first.labels == {"team": "shop", "env": "live", "adk_agent_name": "clerk"}
    assert first.http_options == types.HttpOptions(
        base_url="http://own", timeout=2, headers={"A": "given", "B": "own"}
    )
    assert second.labels and second.labels["env"] == "test"
    assert second.http_options == own.http_options


async def test_input_context_is_sent_before_the_message_and_stored_nowhere() -> None:
    """Contract L10."""
    agent = LlmAgent(
        name="clerk", model=ScriptedModel(turns=[call("look_up", "c1", word="ant"), "Hi."]), tools=[look_up]
    )
    conversation = Conversation(agent)
    await conversation.say("Hello", RunConfig(model_input_context=[say("It is Monday.")]))
    for request in requests_to(agent):
        texts = [content.parts[0].text for content in request.contents if content.parts]
        assert texts[:2] == ["It is Monday.", "Hello"]
    assert "Monday" not in (await conversation.session()).model_dump_json()
