"""Limits on tokens and model calls of one invocation, resumed attempts included (docs/limits.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models.llm_response import LlmResponse
from runtime.tools import FunctionTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, Session
from tests.fakes import ScriptedModel, call, text_content
from tests.served_agents import Served, wait_for_requests

pytestmark = pytest.mark.usefixtures("loop_end")
Configure = Callable[..., None]
TOO_OFTEN = "This asked the model more often than one answer may, so it was stopped. Ask for less at once."
BROKEN = ConnectionError("the model is away")


def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} is a word"


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    scripted = ScriptedModel()
    tools = [look_up, FunctionTool(delete_file, require_confirmation=True)]
    app = App(name="words", root_agent=LlmAgent(name="words", model=scripted, tools=tools))
    served(app)
    return scripted


def delete_file(name: str) -> str:
    """Delete a file."""
    return f"{name} is deleted"


def using(tokens: int, said: str | None = None) -> LlmResponse:
    """Return a model's answer, or a call of the tool, that took so many tokens."""
    usage = types.GenerateContentResponseUsageMetadata(total_token_count=tokens)
    content = text_content(said) if said else types.Content(role="model", parts=[call("look_up", word="ant")])
    return LlmResponse(content=content, usage_metadata=usage)


async def ask(person: User, model: ScriptedModel, *turns: Any) -> tuple[Session, str]:
    """Send a message and wait for the end; return the session and the invocation's id."""
    model.turns = list(turns)
    session = await use_cases.create_session(person, "words")
    invocation_id, _ = await use_cases.send_message(
        actors.person(person), session.pk, "m1", "what is an ant?"
    )
    await worker().wait_until_idle()
    return session, invocation_id


async def outcome(session: Session) -> tuple[str, str]:
    row = await Invocation.objects.filter(session=session).alatest("id")
    return row.status, row.error_message


async def log_of(session: Session) -> list[str]:
    events = Event.objects.filter(session=session).order_by("seq")
    return [event.text or event.body.get("errorMessage") or event.kind async for event in events]


async def test_an_invocation_above_its_token_limit_fails_with_a_sentence_and_keeps_the_message(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocation_tokens=1000)
    session, _ = await ask(person, model, using(600), using(600), "Never said.")
    sentence = "This used more than 1000 tokens, so it was stopped. Ask for less at once."
    assert await outcome(session) == ("failed", sentence)
    assert await log_of(session) == ["what is an ant?", "call", "response", "call", "response", sentence]
    last = await Event.objects.filter(session=session).alatest("seq")
    assert last.body["errorCode"] == "LIMIT"


async def test_a_final_response_above_the_token_limit_is_kept(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocation_tokens=1000)
    session, _ = await ask(person, model, using(600), using(600, "An insect."))
    assert await outcome(session) == ("completed", "")


async def test_an_invocation_above_its_limit_of_model_calls_fails_with_a_sentence(
    person: User, model: ScriptedModel, configure: Configure, caplog: pytest.LogCaptureFixture
) -> None:
    configure(apps={"words": {"invocation_model_calls": 2}})
    again = call("look_up", word="ant")
    session, invocation_id = await ask(person, model, again, again, "Never said.")
    assert await outcome(session) == ("failed", TOO_OFTEN)
    assert await log_of(session) == ["what is an ant?", "call", "response", "call", "response", TOO_OFTEN]
    assert len(model.requests) == 2
    assert f"{invocation_id} was stopped" in caplog.text and "calls its tools in circles" in caplog.text


async def test_limits_count_each_invocation_apart(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocation_model_calls=2, invocation_tokens=1000)
    session, _ = await ask(person, model, using(900), using(900, "An insect."))
    model.turns = [using(900), using(900, "Another one.")]
    await use_cases.send_message(actors.person(person), session.pk, "m2", "and a bee?")
    await worker().wait_until_idle()
    assert (await log_of(session))[-1] == "Another one."


async def hand_over(person: User, model: ScriptedModel, *turns: Any) -> Session:
    """Play the turns, then close the worker during the next model call."""
    model.turns = [*turns, asyncio.Event()]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "what is an ant?")
    await wait_for_requests(model, len(turns) + 1)
    await worker().close()
    return session


async def test_a_resumed_invocation_goes_on_counting_model_calls(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocation_model_calls=3)
    again = call("look_up", word="ant")
    session = await hand_over(person, model, again, again)
    model.turns = [again, "Never said."]
    await InvocationWorker(live()).run_queue(session.pk)
    assert await outcome(session) == ("failed", TOO_OFTEN)
    assert model.turns == ["Never said."]


async def test_a_resumed_invocation_goes_on_counting_tokens(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocation_tokens=1000)
    session = await hand_over(person, model, using(600))
    model.turns = [using(600), "Never said."]
    await InvocationWorker(live()).run_queue(session.pk)
    assert (await outcome(session))[0] == "failed"
    assert model.turns == ["Never said."]


async def test_a_retried_invocation_counts_from_zero(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocation_model_calls=2)
    again = call("look_up", word="ant")
    session, invocation_id = await ask(person, model, again, again)
    model.turns = [again, "An insect."]
    await use_cases.retry(actors.person(person), session.pk, invocation_id)
    await worker().wait_until_idle()
    assert (await outcome(session), (await log_of(session))[-1]) == (("completed", ""), "An insect.")
