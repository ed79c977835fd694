"""Edits of a model callback do not reach the process's shared history (contract A7, C2)."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from runtime.agents import LlmAgent
from runtime.models import LlmRequest
from runtime.runners import Runner
from sessions_app.store import DjangoSessionService
from tests.fakes import ScriptedModel, call, say

pytestmark = pytest.mark.usefixtures("loop_end")


def look_up(word: dict[str, str]) -> str:
    """Look a word up."""
    return word["text"]


def redact(llm_request: LlmRequest, **_: Any) -> None:
    for content in llm_request.contents:
        for part in content.parts or []:
            if part.text:
                part.text += "#"
            if part.function_call and part.function_call.args:
                part.function_call.args["word"]["text"] += "#"


async def test_edits_of_a_callback_do_not_add_up_within_an_invocation_or_across_invocations(
    person: User,
) -> None:
    model = ScriptedModel(turns=[call("look_up", word={"text": "x"}), "one", "two", "three"])
    agent = LlmAgent(name="clerk", model=model, tools=[look_up], before_model_callback=redact)
    sessions = DjangoSessionService()
    runner = Runner(app_name="shop", agent=agent, session_service=sessions)
    ids: dict[str, Any] = {"user_id": str(person.pk), "session_id": "s"}
    await sessions.create_session(app_name="shop", **ids)
    for message in ("a", "b", "c"):
        async for _ in runner.run_async(**ids, new_message=say(message)):
            pass
    sent = [part for content in model.requests[-1].contents for part in content.parts or []]
    assert [part.text for part in sent if part.text] == ["a#", "one#", "b#", "two#", "c#"]
    assert [part.function_call.args for part in sent if part.function_call] == [{"word": {"text": "x#"}}]
    stored = await sessions.get_session(app_name="shop", **ids)
    assert stored is not None and "#" not in stored.model_dump_json()
