"""Recovery: an invocation outlives its process, and is resumed from its events (contract R1, R2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from runtime.agents import BaseAgent, InvocationContext, LlmAgent
from runtime.apps import App
from runtime.events import Event as RuntimeEvent
from runtime.tools import LongRunningFunctionTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.conf import conf
from sessions_app.invocations import execution
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, Session
from sessions_app.store.sql import leases
from tests.fakes import ScriptedModel, call
from tests.served_agents import Served, wait_for_requests

pytestmark = pytest.mark.usefixtures("loop_end")
CALLS: list[str] = []


def look_up(word: str) -> str:
    """Look a word up."""
    CALLS.append(word)
    return f"{word} is a word"


class StatelessAgent(BaseAgent):
    """Waits forever, and records no state."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncIterator[RuntimeEvent]:  # type: ignore[override]
        yield RuntimeEvent(author=self.name, invocation_id=ctx.invocation_id, error_message=None)
        await asyncio.Event().wait()


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    CALLS.clear()
    scripted = ScriptedModel()
    app = App(name="words", root_agent=LlmAgent(name="words", model=scripted, tools=[look_up]))
    custom = App(name="custom", root_agent=StatelessAgent(name="custom"))
    served(app, custom)
    return scripted


async def events_of(session: Session) -> list[dict[str, Any]]:
    return [event.body async for event in Event.objects.filter(session=session).order_by("seq")]


async def wait_for_events(session: Session, count: int) -> None:
    """Wait until the log has so many events."""
    while await Event.objects.filter(session=session).acount() < count:
        await asyncio.sleep(0.01)


async def expire_leases() -> None:
    """Let the leases expire, as when their process stalls or dies."""
    past = timezone.now() - timedelta(seconds=1)
    await Session.objects.exclude(lease_owner="").aupdate(lease_expires_at=past)


async def resume_in_another_worker(session: Session) -> None:
    """Free the expired lease, and run the session in another worker."""
    assert await leases.take_back_expired() == [session.pk]
    await InvocationWorker(live()).run_queue(session.pk)


async def test_another_process_resumes_without_repeating_tools_and_the_old_one_writes_no_more(
    person: User, model: ScriptedModel
) -> None:
    stall = asyncio.Event()
    model.turns = [call("look_up", word="ant"), stall]
    session = await use_cases.create_session(person, "words")
    invocation_id, _ = await use_cases.send_message(
        actors.person(person), session.pk, "m1", "what is an ant?"
    )
    await wait_for_requests(model, 2)
    task = worker()._running[invocation_id].task
    await expire_leases()
    model.turns = ["An ant is a word."]
    await resume_in_another_worker(session)
    stall.set()
    await task
    events = await events_of(session)
    assert [event["author"] for event in events] == ["user", "words", "words", "words", "words"]
    lease_token = (await Session.objects.aget(pk=session.pk)).lease_token
    assert events[3]["customMetadata"] == {"adk_resumed": lease_token}
    assert events[4]["content"]["parts"][0]["text"] == "An ant is a word."
    assert CALLS == ["ant"]
    invocation = await Invocation.objects.aget(session=session)
    assert (invocation.status, invocation.attempts) == ("completed", 2)


async def test_a_process_that_shuts_down_hands_its_invocation_over(
    person: User, model: ScriptedModel
) -> None:
    model.turns = [asyncio.Event()]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "what is an ant?")
    await wait_for_events(session, 1)
    await worker().close()
    invocation = await Invocation.objects.aget(session=session)
    assert invocation.status == "queued"
    model.turns = ["A word."]
    await InvocationWorker(live()).run_queue(session.pk)
    assert [
        event.get("content", {}).get("parts", [{}])[0].get("text") for event in await events_of(session)
    ] == [
        "what is an ant?",
        None,
        "A word.",
    ]


async def test_a_process_that_shuts_down_hands_over_an_invocation_that_has_not_begun(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "what is an ant?")
    await worker().close()  # The invocation's task has not run at all yet.
    assert await events_of(session) == []
    assert (await Invocation.objects.aget(session=session)).status == "queued"
    assert (await Session.objects.aget(pk=session.pk)).lease_owner == ""


async def test_an_agent_that_records_no_state_is_not_resumed_and_fails_with_a_sentence(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "custom")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "go")
    await wait_for_events(session, 2)
    await worker().close()
    await InvocationWorker(live()).run_queue(session.pk)
    invocation = await Invocation.objects.aget(session=session)
    assert (invocation.status, invocation.error_code) == ("failed", "INTERRUPTED")
    assert "could not be taken up again" in (await events_of(session))[-1]["errorMessage"]


async def test_a_cancel_seals_open_calls_and_marks_the_end(
    person: User, model: ScriptedModel, served: Served
) -> None:
    begun = asyncio.Event()

    async def slow() -> str:
        """Never ends."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    app = App(name="words", root_agent=LlmAgent(name="words", model=model, tools=[slow]))
    served(app)
    model.turns = [call("slow")]
    session = await use_cases.create_session(person, "words")
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "go")
    await begun.wait()
    task = worker()._running[invocation_id].task
    await use_cases.cancel(actors.person(person), session.pk, invocation_id)
    await asyncio.gather(task, return_exceptions=True)
    events = await events_of(session)
    assert events[2]["content"]["parts"][0]["functionResponse"]["response"]["status"] == "interrupted"
    assert events[3]["interrupted"] is True
    assert (await Invocation.objects.aget(session=session)).status == "cancelled"


async def test_a_waiting_invocation_whose_end_was_not_stored_waits_again(
    person: User, model: ScriptedModel, served: Served
) -> None:
    """The process died between the last event and the end, or PostgreSQL lost the asynchronously committed end."""

    def ask_somebody() -> None:
        """Ask somebody."""

    tools = [LongRunningFunctionTool(ask_somebody)]
    app = App(name="words", root_agent=LlmAgent(name="words", model=model, tools=tools))
    served(app)
    model.turns = [call("ask_somebody")]
    session = await use_cases.create_session(person, "words")
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "go")
    await worker()._running[invocation_id].task
    before = await events_of(session)
    await Invocation.objects.filter(session=session).aupdate(status="queued")
    await worker().run_queue(session.pk)
    assert (await Invocation.objects.aget(session=session)).status == "waiting"
    assert await events_of(session) == before


async def test_an_invocation_that_takes_too_long_fails_with_a_sentence(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(conf(), invocation_seconds=0.05)
    monkeypatch.setattr(execution, "conf", lambda: short)
    model.turns = [asyncio.Event()]
    session = await use_cases.create_session(person, "words")
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "go")
    await worker()._running[invocation_id].task
    last = (await events_of(session))[-1]
    assert last["errorCode"] == "LIMIT"
    assert "longer than" in last["errorMessage"]
