"""In a resumable app an answer continues the invocation of its call, on the site too (contract R1, T5)."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from runtime.agents import LlmAgent, SequentialAgent
from runtime.apps import App, ResumabilityConfig
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.jobs import job_tool
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, ToolJob
from sessions_app.process import threads
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import run_queue, run_task, talk
from tests.served_agents import Served


@job_tool
def bind(title: str) -> dict[str, Any]:
    """Bind a book."""
    return {"bound": title}


@pytest.fixture
def model(served: Served, person: User, broker: list[tuple[str, str]], background_end: None) -> ScriptedModel:
    """The model of two agents in sequence: one has a book bound by a job, the next one sends it."""
    scripted = ScriptedModel()
    binder = LlmAgent(name="binder", model=scripted, tools=[bind])
    sender = LlmAgent(name="sender", model=scripted)
    shop = SequentialAgent(name="shop", sub_agents=[binder, sender])
    app = App(name="shop", root_agent=shop, resumability_config=ResumabilityConfig(is_resumable=True))
    served(app)
    return scripted


ASKED = ("binder", "It is being bound.")


def agent_texts() -> list[tuple[str, str]]:
    """Return author and text of the agents' events."""
    events = Event.objects.exclude(text="").exclude(author="user").order_by("seq")
    return [(event.author, event.text) for event in events]


def statuses() -> list[str]:
    return list(Invocation.objects.order_by("id").values_list("status", flat=True))


def bind_by_job(person: User, model: ScriptedModel) -> UUID:
    """Return a session that waits for a job which has ended; its answer is queued."""
    model.turns = [call("bind", title="Ants"), "It is being bound."]
    session_id = talk(person, "shop", "Bind Ants and send it.")
    assert (agent_texts(), statuses()) == ([ASKED], ["waiting"])
    run_task(ToolJob.objects.get())
    return session_id


def test_the_agents_after_the_waiting_one_run_after_the_answer(person: User, model: ScriptedModel) -> None:
    session_id = bind_by_job(person, model)
    model.turns = ["It is bound.", "It is sent."]
    run_queue(session_id)
    assert agent_texts() == [ASKED, ("binder", "It is bound."), ("sender", "It is sent.")]
    assert statuses() == ["completed", "completed"]
    first = Invocation.objects.get(client_id="m1")
    assert set(Event.objects.values_list("invocation_id", flat=True)) == {first.invocation_id}


def test_a_resumed_answer_repeats_no_agent(person: User, model: ScriptedModel) -> None:
    session_id = bind_by_job(person, model)
    model.turns = ["It is bound.", asyncio.Event()]

    async def start_and_close_worker() -> None:
        await worker().start_next(session_id)
        while len(model.requests) < 4:
            await asyncio.sleep(0.01)
        await worker().close()

    threads.run(start_and_close_worker())
    assert statuses() == ["waiting", "queued"]

    async def resume() -> None:
        await InvocationWorker(live()).run_queue(session_id)

    model.turns = ["It is sent."]
    threads.run(resume())
    assert agent_texts() == [ASKED, ("binder", "It is bound."), ("sender", "It is sent.")]
    assert statuses() == ["completed", "completed"]


def test_a_failed_answer_is_retried_from_the_agent_that_failed(person: User, model: ScriptedModel) -> None:
    session_id = bind_by_job(person, model)
    model.turns = ["It is bound.", RuntimeError("the post is closed")]
    run_queue(session_id)
    assert statuses() == ["completed", "failed"]
    failed = Invocation.objects.latest("id")

    async def retry() -> None:
        await use_cases.retry(actors.person(person), session_id, failed.invocation_id)
        await worker().wait_until_idle()

    model.turns = ["It is sent."]
    threads.run(retry())
    assert agent_texts() == [ASKED, ("binder", "It is bound."), ("sender", "It is sent.")]
    assert statuses() == ["completed", "completed"]
