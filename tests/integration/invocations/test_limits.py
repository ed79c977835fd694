"""Queue policies, limits on concurrent invocations, and limits on cost (docs/limits.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models.llm_response import LlmResponse
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import ConflictError
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Invocation, Session
from sessions_app.store.sql.invocation_queue import NewInvocation
from tests.fakes import ScriptedModel, call
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
Configure = Callable[..., None]


def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} is a word"


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    scripted = ScriptedModel()
    names = ("words", "other")
    apps = {
        name: App(name=name, root_agent=LlmAgent(name=name, model=scripted, tools=[look_up]))
        for name in names
    }
    served(*apps.values())
    return scripted


async def statuses(session: Session) -> list[str]:
    rows = Invocation.objects.filter(session=session).order_by("id")
    return [status async for status in rows.values_list("status", flat=True)]


async def texts(session: Session) -> list[str]:
    events = Event.objects.filter(session=session).order_by("seq")
    return [event.text or event.body.get("errorMessage") or "" async for event in events]


async def test_a_second_message_waits_for_its_turn(person: User, model: ScriptedModel) -> None:
    first = asyncio.Event()
    model.turns = [first, "two"]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "first")
    await use_cases.send_message(actors.person(person), session.pk, "m2", "second")
    assert await statuses(session) == ["running", "queued"]
    first.set()
    await worker().wait_until_idle()
    assert await texts(session) == ["first", "released", "second", "two"]


async def test_the_reject_policy_refuses_a_second_message_and_accepts_a_repeated_one(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(apps={"words": {"queue_policy": "reject"}})
    first = asyncio.Event()
    model.turns = [first, "two"]
    session = await use_cases.create_session(person, "words")
    sent = await use_cases.send_message(actors.person(person), session.pk, "m1", "first")
    with pytest.raises(ConflictError, match="still being answered"):
        await use_cases.send_message(actors.person(person), session.pk, "m2", "second")
    assert (await use_cases.send_message(actors.person(person), session.pk, "m1", "first"))[0] == sent[0]
    first.set()
    await worker().wait_until_idle()
    await use_cases.send_message(actors.person(person), session.pk, "m2", "second")
    await worker().wait_until_idle()
    assert await texts(session) == ["first", "released", "second", "two"]


async def test_the_interrupt_policy_cancels_all_older_invocations(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(queue_policy="interrupt")
    model.rule = lambda request: "three" if "message 3" in str(request.contents[-1]) else asyncio.Event()
    session = await use_cases.create_session(person, "words")
    for number in (1, 2, 3):
        await use_cases.send_message(actors.person(person), session.pk, f"m{number}", f"message {number}")
    await worker().wait_until_idle()
    assert await statuses(session) == ["cancelled", "cancelled", "completed"]
    assert (await texts(session))[-2:] == ["message 3", "three"]
    assert (await Event.objects.aget(session=session, seq=1)).text == "message 1"


async def test_the_interrupt_policy_keeps_queued_answers(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(queue_policy="interrupt")
    model.rule = lambda request: asyncio.Event() if "message 1" in str(request.contents[-1]) else "done"
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "message 1")
    answer = {"role": "user", "parts": [{"text": "a job's result"}]}
    await worker().start(NewInvocation(session.pk, user_id=person.pk, client_id="job:1", message=answer))
    await use_cases.send_message(actors.person(person), session.pk, "m2", "message 2")
    await worker().wait_until_idle()
    assert await statuses(session) == ["cancelled", "completed", "completed"]


async def test_a_persons_invocations_at_once_are_limited(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    """The message is kept, and an error event names the reason."""
    configure(max_invocations_per_user=2)
    model.rule = lambda request: "now" if "again" in str(request.contents[-1]) else asyncio.Event()
    sessions = [await use_cases.create_session(person, "words") for _ in range(3)]
    started = [
        await use_cases.send_message(actors.person(person), session.pk, "m1", "hello") for session in sessions
    ]
    await worker()._running[started[2][0]].task
    assert await statuses(sessions[2]) == ["failed"]
    said = await texts(sessions[2])
    assert said[0] == "hello"
    assert "Wait until one of them is complete" in said[1]
    await use_cases.cancel(actors.person(person), sessions[0].pk, started[0][0])
    await worker()._running[started[0][0]].task
    again = await use_cases.send_message(actors.person(person), sessions[2].pk, "m2", "hello again")
    await worker()._running[again[0]].task
    assert await statuses(sessions[2]) == ["failed", "completed"]


async def test_the_limit_holds_for_messages_sent_in_the_same_instant(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_invocations_per_user=3)
    end = asyncio.Event()
    model.turns = [end] * 10
    sessions = [await use_cases.create_session(person, "words") for _ in range(10)]
    await asyncio.gather(
        *(use_cases.send_message(actors.person(person), session.pk, "m1", "hello") for session in sessions)
    )
    end.set()
    await worker().wait_until_idle()
    assert (
        sorted([(await statuses(session))[0] for session in sessions]) == ["completed"] * 3 + ["failed"] * 7
    )


async def test_an_apps_invocations_at_once_are_limited_apart_from_other_apps(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(apps={"words": {"max_invocations_per_app": 1}})
    model.rule = lambda request: asyncio.Event() if "stay" in str(request.contents[-1]) else "other"
    busy, refused = [await use_cases.create_session(person, "words") for _ in range(2)]
    other = await use_cases.create_session(person, "other")
    await use_cases.send_message(actors.person(person), busy.pk, "m1", "stay")
    for session in (refused, other):
        sent = await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
        await worker()._running[sent[0]].task
    assert "Send this again in a moment" in (await texts(refused))[1]
    assert await statuses(other) == ["completed"]


def costly(prompt: int, cached: int, written: int) -> LlmResponse:
    """Return a model's call of the tool, with its usage."""
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=prompt,
        cached_content_token_count=cached,
        candidates_token_count=written,
        total_token_count=prompt + written,
    )
    content = types.Content(role="model", parts=[call("look_up", word="ant")])
    return LlmResponse(content=content, usage_metadata=usage, model_version="gemini-9-flash-001")


async def test_an_invocation_above_its_cost_limit_fails_with_a_sentence(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    prices = {"gemini-9": {"input": 100.0, "output": 100.0}, "gemini-9-flash": {"input": 1.0, "output": 2.0}}
    configure(prices=prices, apps={"words": {"invocation_cost": 2.5}})
    model.turns = [costly(1_000_000, 0, 500_000), costly(400_000, 0, 100_000), "never"]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "what is an ant?")
    await worker().wait_until_idle()
    assert await statuses(session) == ["failed"]
    assert (await texts(session))[-1] == "This cost more than 2.5, so it was stopped. Ask for less at once."
    assert len(model.requests) == 2


async def test_cached_input_is_counted_at_its_own_price(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    prices = {"gemini-9": {"input": 1.0, "output": 2.0, "cached_input": 0.1}}
    configure(prices=prices, invocation_cost=0.5)
    model.turns = [costly(1_000_000, 900_000, 100_000), "An ant."]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "what is an ant?")
    await worker().wait_until_idle()
    assert await statuses(session) == ["completed"]
