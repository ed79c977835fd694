"""A Celery worker process runs many sessions at once, beside its tasks."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.context import new_invocation_id
from sessions_app import use_cases
from sessions_app.base.codec import content_to_json
from sessions_app.invocations.background import _runs, run_in_background
from sessions_app.models import Invocation
from sessions_app.store.sql import invocation_queue, leases
from sessions_app.store.sql.invocation_queue import NewInvocation
from tests.fakes import ScriptedModel, say
from tests.served_agents import Served, wait_for_requests

pytestmark = pytest.mark.usefixtures("loop_end")


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    scripted = ScriptedModel()
    app = App(name="patient", root_agent=LlmAgent(name="patient", model=scripted))
    served(app)
    return scripted


@pytest.fixture
def two_at_once(settings: Settings) -> None:
    settings.ADK = {"worker_sessions": 2}


async def queue_session(person: User) -> UUID:
    """Return a session with a queued invocation."""
    session = await use_cases.create_session(person, "patient")
    await invocation_queue.enqueue(
        NewInvocation(
            session.pk,
            user_id=person.pk,
            invocation_id=new_invocation_id(),
            client_id=uuid4().hex,
            message=content_to_json(say("hi")),
        )
    )
    return session.pk


async def wait_for_status(session_id: UUID, status: str) -> None:
    while not await Invocation.objects.filter(session_id=session_id, status=status).aexists():
        await asyncio.sleep(0.01)


async def test_a_session_that_waits_for_its_model_does_not_block_the_next(
    person: User, model: ScriptedModel
) -> None:
    slow = asyncio.Event()
    model.turns = [slow, "quick"]
    first, second = await queue_session(person), await queue_session(person)
    await run_in_background(first)
    await wait_for_requests(model, 1)
    await run_in_background(second)
    await wait_for_status(second, "completed")
    assert await Invocation.objects.filter(session_id=first, status="running").aexists()
    slow.set()
    await wait_for_status(first, "completed")


async def test_above_the_limit_a_session_stays_queued_until_another_ends(
    person: User, model: ScriptedModel, two_at_once: None
) -> None:
    gates = [asyncio.Event() for _ in range(3)]
    model.turns = list(gates)
    sessions = [await queue_session(person) for _ in gates]
    await run_in_background(sessions[0])
    await wait_for_requests(model, 1)
    await run_in_background(sessions[1])
    await wait_for_requests(model, 2)
    await run_in_background(sessions[2])  # Returns at once, so that the Celery task ends.
    assert len(_runs) == 2
    gates[0].set()
    await wait_for_requests(model, 3)
    for gate in gates:
        gate.set()
    for session_id in sessions:
        await wait_for_status(session_id, "completed")


async def test_a_run_that_has_ended_goes_on_with_sessions_that_nobody_runs(
    person: User, model: ScriptedModel
) -> None:
    model.turns = ["one", "two", "three"]
    sessions = [await queue_session(person) for _ in model.turns]
    await run_in_background(sessions[0])
    for session_id in sessions:
        await wait_for_status(session_id, "completed")
    assert len(model.requests) == len(sessions)


async def test_no_abandoned_session_is_always_behind_the_others(person: User, model: ScriptedModel) -> None:
    sessions = {await queue_session(person) for _ in range(5)}
    offered: set[UUID] = set()
    while offered != sessions:
        batch = await leases.sessions_with_abandoned_queue(0, limit=2)
        assert len(set(batch)) == 2
        offered |= set(batch)
