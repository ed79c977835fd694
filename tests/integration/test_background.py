"""A Celery worker's process runs many sessions at once, beside its tasks (design.md, "One writer per session")."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.context import new_invocation_id
from sessions_app import agent_registry, use_cases
from sessions_app.codec import content_to_json
from sessions_app.conf import conf
from sessions_app.db import invocation_queue
from sessions_app.invocations.background import _runs, run_in_background
from sessions_app.models import Invocation
from tests.fakes import ScriptedModel, say

pytestmark = pytest.mark.usefixtures("loop_end")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    scripted = ScriptedModel()
    app = App(name="patient", root_agent=LlmAgent(name="patient", model=scripted))
    monkeypatch.setattr(agent_registry, "apps", lambda: {"patient": app})
    return scripted


@pytest.fixture
def two_at_once(settings: Settings) -> Iterator[None]:
    settings.ADK = {"worker_sessions": 2}
    conf.cache_clear()
    yield
    conf.cache_clear()


async def queued_session(person: User) -> UUID:
    """A session in which something waits for a worker."""
    session = await use_cases.create_session(person, "patient")
    message: dict[str, Any] = content_to_json(say("hi"))
    await invocation_queue.enqueue(
        session.pk,
        user_id=person.pk,
        invocation_id=new_invocation_id(),
        client_id=uuid4().hex,
        message=message,
    )
    return session.pk


async def when_status(session_id: UUID, status: str) -> None:
    while not await Invocation.objects.filter(session_id=session_id, status=status).aexists():
        await asyncio.sleep(0.01)


async def when_asked(model: ScriptedModel, times: int) -> None:
    while len(model.requests) < times:
        await asyncio.sleep(0.01)


async def test_a_session_that_waits_for_its_model_does_not_hold_up_the_next(
    person: User, model: ScriptedModel
) -> None:
    slow = asyncio.Event()
    model.turns = [slow, "quick"]
    first, second = await queued_session(person), await queued_session(person)
    await run_in_background(first)
    await when_asked(model, 1)
    await run_in_background(second)
    await when_status(second, "completed")
    assert await Invocation.objects.filter(session_id=first, status="running").aexists()
    slow.set()
    await when_status(first, "completed")


async def test_beyond_the_limit_a_session_is_left_in_the_queue_until_another_has_ended(
    person: User, model: ScriptedModel, two_at_once: None
) -> None:
    gates = [asyncio.Event() for _ in range(3)]
    model.turns = list(gates)
    sessions = [await queued_session(person) for _ in gates]
    await run_in_background(sessions[0])
    await when_asked(model, 1)
    await run_in_background(sessions[1])
    await when_asked(model, 2)
    await run_in_background(sessions[2])  # returns, for the process has other things to do
    assert len(_runs) == 2
    gates[0].set()
    await when_asked(model, 3)
    for gate in gates:
        gate.set()
    for session_id in sessions:
        await when_status(session_id, "completed")
