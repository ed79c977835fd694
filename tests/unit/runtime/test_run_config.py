"""RunConfig: settings of an invocation (contract L10)."""

from __future__ import annotations

import pytest

from runtime.agents import LlmAgent
from runtime.errors import LlmCallsLimitExceededError
from runtime.run_config import RunConfig
from runtime.runners import InMemoryRunner
from tests.fakes import ScriptedModel, call, say


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
