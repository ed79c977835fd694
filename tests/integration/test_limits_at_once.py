"""How many run at once is limited for whatever begins: at once, when its turn comes, or once more (docs/limits.md)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from psycopg import AsyncConnection

from runtime.agents import BaseAgent, InvocationContext, LlmAgent
from runtime.apps import App
from runtime.context import new_invocation_id
from runtime.engine.build_events import agent_event
from runtime.events import Event as RuntimeEvent
from sessions_app import agent_registry, use_cases
from sessions_app.codec import content_to_json
from sessions_app.db import invocation_queue, leases
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, Session
from tests.fakes import ScriptedModel, say, text_content
from tests.integration.locks import blocked, held

pytestmark = pytest.mark.usefixtures("loop_end")
Configure = Callable[..., None]
BROKEN = ConnectionError("the model is away")


class Custom(BaseAgent):
    """Breaks at its first run; records no state."""

    runs: list[str] = []

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncIterator[RuntimeEvent]:  # type: ignore[override]
        self.runs.append(ctx.invocation_id)
        yield agent_event(ctx, text_content("I begin."))
        if len(self.runs) == 1:
            raise BROKEN


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    scripted = ScriptedModel()
    words = App(name="words", root_agent=LlmAgent(name="words", model=scripted))
    custom = App(name="custom", root_agent=Custom(name="custom", runs=[]))
    monkeypatch.setattr(agent_registry, "apps", lambda: {"words": words, "custom": custom})
    return scripted


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that the hot path sends."""
    sent: list[str] = []
    execute = AsyncConnection.execute

    async def counted(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(str(query))
        return await execute(self, query, *args, **kwargs)

    monkeypatch.setattr(AsyncConnection, "execute", counted)
    return sent


async def statuses(session: Session) -> list[str]:
    return [row.status async for row in Invocation.objects.filter(session=session).order_by("id")]


async def last_said(session: Session) -> str:
    event = await Event.objects.filter(session=session).alatest("seq")
    return str(event.text or event.body.get("errorMessage"))


async def when_at_rest(session: Session) -> None:
    """Wait until nothing runs in the session; elsewhere something may."""
    while set(await statuses(session)) & {"queued", "running"}:
        await asyncio.sleep(0.01)


async def when_asked(model: ScriptedModel, times: int) -> None:
    while len(model.requests) < times:
        await asyncio.sleep(0.01)


async def one_is_busy(person: User, model: ScriptedModel) -> tuple[Session, asyncio.Event]:
    """A conversation whose answer is being written until the event is set."""
    end = asyncio.Event()
    asked = len(model.requests)
    model.turns = [end]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(person, session.pk, "m1", "hello")
    await when_asked(model, asked + 1)
    return session, end


async def failed(person: User, model: ScriptedModel, app: str) -> tuple[Session, str]:
    """A conversation whose answer failed, and the invocation's id."""
    model.turns = [BROKEN]
    session = await use_cases.create_session(person, app)
    invocation_id, _ = await use_cases.send_message(person, session.pk, "m1", "hello")
    await worker().wait_until_idle()
    assert await statuses(session) == ["failed"]
    return session, invocation_id


async def has_waited(person: User, app: str, client_id: str) -> Session:
    """A session in which something is queued, and no process knows of it."""
    session = await use_cases.create_session(person, app)
    await invocation_queue.enqueue(
        session.pk,
        user_id=person.pk,
        invocation_id=new_invocation_id(),
        client_id=client_id,
        message=content_to_json(say("hello")),
    )
    return session


async def test_what_is_tried_again_counts_like_any_other(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocations_of_person=1)
    session, invocation_id = await failed(person, model, "words")
    _, end = await one_is_busy(person, model)
    await use_cases.retry(person, session.pk, invocation_id)
    await when_at_rest(session)
    assert await statuses(session) == ["failed"]
    assert "Wait until one of them is complete" in await last_said(session)
    end.set()
    await worker().wait_until_idle()
    model.turns = ["Hello."]
    await use_cases.retry(person, session.pk, invocation_id)
    await worker().wait_until_idle()
    assert (await statuses(session), await last_said(session)) == (["completed"], "Hello.")


async def test_what_is_sent_once_more_for_an_agent_that_cannot_go_on_counts_too(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocations_of_person=1)
    session, invocation_id = await failed(person, model, "custom")
    await one_is_busy(person, model)
    await use_cases.retry(person, session.pk, invocation_id)
    await when_at_rest(session)
    assert await statuses(session) == ["failed", "failed"]
    assert "Wait until one of them is complete" in await last_said(session)


async def test_of_three_messages_that_are_sent_at_once_where_there_is_no_room_none_is_answered(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocations_of_person=1)
    busy, _ = await one_is_busy(person, model)
    session = await use_cases.create_session(person, "words")
    for number in range(3):
        await use_cases.send_message(person, session.pk, f"m{number}", "hello")
    await when_at_rest(session)
    assert await statuses(session) == ["failed"] * 3
    assert await statuses(busy) == ["running"]
    assert len(model.requests) == 1


async def test_what_waits_for_its_turn_in_one_conversation_takes_no_more_than_one_place(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocations_of_person=1, invocations_of_app=1)
    model.turns = ["one", "two", "three"]
    session = await use_cases.create_session(person, "words")
    for number in range(3):
        await use_cases.send_message(person, session.pk, f"m{number}", "hello")
    await worker().wait_until_idle()
    assert await statuses(session) == ["completed"] * 3


async def test_what_is_said_while_the_answer_before_it_ends_does_not_count_that_one(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocations_of_person=1, invocations_of_app=1)
    model.turns = ["Hello."]
    session = await use_cases.create_session(person, "words")
    await Session.objects.filter(pk=session.pk).aupdate(lease_owner="somebody", lease_token=1)
    async with held("UPDATE sessions_app_session SET lease_owner = ''"):
        sending = asyncio.create_task(use_cases.send_message(person, session.pk, "m1", "hello"))
        await blocked(1)
    await sending
    await worker().wait_until_idle()
    assert await statuses(session) == ["completed"]


@pytest.mark.parametrize("limit", ["invocations_of_person", "invocations_of_app"])
async def test_of_many_whose_turn_comes_in_the_same_instant_only_so_many_run(
    person: User, model: ScriptedModel, configure: Configure, limit: str
) -> None:
    configure(**{limit: 3})
    end = asyncio.Event()
    model.turns = [end] * 10
    sessions = [await has_waited(person, "words", "m1") for _ in range(10)]
    await asyncio.gather(*(worker().start_next(session.pk) for session in sessions))
    end.set()
    await worker().wait_until_idle()
    assert (
        sorted([(await statuses(session))[0] for session in sessions]) == ["completed"] * 3 + ["failed"] * 7
    )


@pytest.mark.parametrize("kind", ["answer:1", "job:1", "schedule:1:1"])
async def test_what_must_not_be_lost_is_answered_all_the_same(
    person: User, model: ScriptedModel, configure: Configure, kind: str
) -> None:
    configure(invocations_of_person=1, invocations_of_app=1)
    await one_is_busy(person, model)
    model.turns = ["Noted.", "Noted, too."]
    waited = await has_waited(person, "words", kind)
    await worker().run_queue(waited.pk)
    assert await statuses(waited) == ["completed"]
    at_once = await use_cases.create_session(person, "words")
    await worker().start(at_once.pk, user_id=person.pk, client_id=kind, message=content_to_json(say("hello")))
    await when_at_rest(at_once)
    assert await statuses(at_once) == ["completed"]


async def test_what_had_its_place_goes_on_in_another_process_although_it_was_taken_meanwhile(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(invocations_of_person=1)
    session, _ = await one_is_busy(person, model)
    past = timezone.now() - timedelta(seconds=1)
    await Session.objects.filter(pk=session.pk).aupdate(lease_expires_at=past)
    assert await leases.take_back_expired() == [session.pk]
    await one_is_busy(person, model)
    model.turns = ["Hello."]
    await InvocationWorker(live()).run_queue(session.pk)
    assert await statuses(session) == ["completed"]


@pytest.mark.parametrize(("limits", "locks"), [({}, 0), ({"invocations_of_person": 1}, 1)])
async def test_a_limit_that_is_not_set_costs_no_statement(
    person: User, model: ScriptedModel, configure: Configure, statements: list[str], limits: Any, locks: int
) -> None:
    configure(**limits)
    model.turns = ["Hello."]
    session = await has_waited(person, "words", "m1")
    statements.clear()
    task = await worker().start_next(session.pk)
    assert len(statements) == 1 + locks
    assert task is not None
    await task
    session = await use_cases.create_session(person, "words")
    model.turns = ["Hello."]
    statements.clear()
    await use_cases.send_message(person, session.pk, "m1", "hello")
    assert len(statements) == 1 + locks
    await worker().wait_until_idle()
