"""On the site, too, an answer goes on with the invocation of its call where the app is resumable (spec R1, T5)."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from runtime.agents import LlmAgent, SequentialAgent
from runtime.apps import App, ResumabilityConfig
from sessions_app import agent_registry, use_cases
from sessions_app.db import threads
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.jobs import job_tool
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, ToolJob
from tests.fakes import ScriptedModel, call
from tests.integration.job_helpers import run_queue, run_task, talk


@job_tool
def bind(title: str) -> dict[str, Any]:
    """Bind a book."""
    return {"bound": title}


@pytest.fixture
def model(
    monkeypatch: pytest.MonkeyPatch, person: User, broker: list[tuple[str, str]], background_end: None
) -> ScriptedModel:
    """Of an agent that has a book bound, and of the one that sends it then."""
    scripted = ScriptedModel()
    binder = LlmAgent(name="binder", model=scripted, tools=[bind])
    sender = LlmAgent(name="sender", model=scripted)
    shop = SequentialAgent(name="shop", sub_agents=[binder, sender])
    app = App(name="shop", root_agent=shop, resumability_config=ResumabilityConfig(is_resumable=True))
    monkeypatch.setattr(agent_registry, "apps", lambda: {"shop": app})
    return scripted


def said() -> list[tuple[str, str]]:
    """Who said what, the person aside."""
    events = Event.objects.exclude(text="").exclude(author="user").order_by("seq")
    return [(event.author, event.text) for event in events]


def statuses() -> list[str]:
    return list(Invocation.objects.order_by("id").values_list("status", flat=True))


def when_bound(person: User, model: ScriptedModel) -> UUID:
    """A session that waited for the job, which has ended; nobody has heard of that yet."""
    model.turns = [call("bind", title="Ants")]
    session_id = talk(person, "shop", "Bind Ants and send it.")
    assert (said(), statuses()) == ([], ["waiting"])
    run_task(ToolJob.objects.get())
    return session_id


def test_the_agents_behind_the_one_that_waited_have_their_turn_after_the_answer(
    person: User, model: ScriptedModel
) -> None:
    session_id = when_bound(person, model)
    model.turns = ["It is bound.", "It is sent."]
    run_queue(session_id)
    assert said() == [("binder", "It is bound."), ("sender", "It is sent.")]
    assert statuses() == ["completed", "completed"]
    asked = Invocation.objects.get(client_id="m1")
    assert set(Event.objects.values_list("invocation_id", flat=True)) == {asked.invocation_id}


def test_who_takes_up_the_answer_goes_on_there_and_asks_nobody_twice(
    person: User, model: ScriptedModel
) -> None:
    session_id = when_bound(person, model)
    model.turns = ["It is bound.", asyncio.Event()]

    async def begin_and_close() -> None:
        await worker().start_next(session_id)
        while len(model.requests) < 3:
            await asyncio.sleep(0.01)
        await worker().close()

    threads.run(begin_and_close())
    assert statuses() == ["waiting", "queued"]

    async def go_on() -> None:
        await InvocationWorker(live()).run_queue(session_id)

    model.turns = ["It is sent."]
    threads.run(go_on())
    assert said() == [("binder", "It is bound."), ("sender", "It is sent.")]
    assert statuses() == ["completed", "completed"]


def test_an_answer_that_failed_is_tried_again_from_where_it_failed(
    person: User, model: ScriptedModel
) -> None:
    session_id = when_bound(person, model)
    model.turns = ["It is bound.", RuntimeError("the post is closed")]
    run_queue(session_id)
    assert statuses() == ["completed", "failed"]
    failed = Invocation.objects.latest("id")

    async def try_again() -> None:
        await use_cases.retry(person, session_id, failed.invocation_id)
        await worker().wait_until_idle()

    model.turns = ["It is sent."]
    threads.run(try_again())
    assert [text for _, text in said()] == ["It is bound.", "It is sent."]
    assert statuses() == ["completed", "completed"]
