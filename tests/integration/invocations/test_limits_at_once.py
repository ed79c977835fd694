"""Limits on concurrent invocations: for new, queued and retried invocations alike (docs/limits.md)."""

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
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.base.codec import content_to_json
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, Session
from sessions_app.store.sql import invocation_queue, leases
from sessions_app.store.sql.invocation_queue import NewInvocation
from tests.fakes import ScriptedModel, say, text_content
from tests.integration.locks import blocked, held
from tests.served_agents import Served, wait_for_requests

pytestmark = pytest.mark.usefixtures("loop_end")
Configure = Callable[..., None]
BROKEN = ConnectionError("the model is away")


class StatelessAgent(BaseAgent):
    """Fails in its first run; records no state."""

    runs: list[str] = []

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncIterator[RuntimeEvent]:  # type: ignore[override]
        self.runs.append(ctx.invocation_id)
        yield agent_event(ctx, text_content("I begin."))
        if len(self.runs) == 1:
            raise BROKEN


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    scripted = ScriptedModel()
    words = App(name="words", root_agent=LlmAgent(name="words", model=scripted))
    custom = App(name="custom", root_agent=StatelessAgent(name="custom", runs=[]))
    served(words, custom)
    return scripted


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that the connection pool executes."""
    sent: list[str] = []
    execute = AsyncConnection.execute

    async def counted(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(str(query))
        return await execute(self, query, *args, **kwargs)

    monkeypatch.setattr(AsyncConnection, "execute", counted)
    return sent


async def statuses(session: Session) -> list[str]:
    return [row.status async for row in Invocation.objects.filter(session=session).order_by("id")]


async def last_text(session: Session) -> str:
    event = await Event.objects.filter(session=session).alatest("seq")
    return str(event.text or event.body.get("errorMessage"))


async def wait_until_settled(session: Session) -> None:
    """Wait until no invocation of the session runs or is queued."""
    while set(await statuses(session)) & {"queued", "running"}:
        await asyncio.sleep(0.01)


async def start_answer(person: User, model: ScriptedModel) -> tuple[Session, asyncio.Event]:
    """Return a session with an invocation that runs until the returned event is set."""
    end = asyncio.Event()
    requests_before = len(model.requests)
    model.turns = [end]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    await wait_for_requests(model, requests_before + 1)
    return session, end


async def fail_once(person: User, model: ScriptedModel, app: str) -> tuple[Session, str]:
    """Return a session with a failed invocation, and its id."""
    model.turns = [BROKEN]
    session = await use_cases.create_session(person, app)
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    await worker().wait_until_idle()
    assert await statuses(session) == ["failed"]
    return session, invocation_id


async def queue_only(person: User, app: str, client_id: str) -> Session:
    """Return a session with a queued invocation that no process was told of."""
    session = await use_cases.create_session(person, app)
    await invocation_queue.enqueue(
        NewInvocation(
            session.pk,
            user_id=person.pk,
            invocation_id=new_invocation_id(),
            client_id=client_id,
            message=content_to_json(say("hello")),
        )
    )
    return session


async def test_a_retry_counts_towards_the_limit(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_invocations_per_user=1)
    session, invocation_id = await fail_once(person, model, "words")
    _, end = await start_answer(person, model)
    await use_cases.retry(actors.person(person), session.pk, invocation_id)
    await wait_until_settled(session)
    assert await statuses(session) == ["failed"]
    assert "Wait until one of them is complete" in await last_text(session)
    end.set()
    await worker().wait_until_idle()
    model.turns = ["Hello."]
    await use_cases.retry(actors.person(person), session.pk, invocation_id)
    await worker().wait_until_idle()
    assert (await statuses(session), await last_text(session)) == (["completed"], "Hello.")


async def test_a_message_that_a_retry_sends_again_counts_towards_the_limit(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_invocations_per_user=1)
    session, invocation_id = await fail_once(person, model, "custom")
    await start_answer(person, model)
    await use_cases.retry(actors.person(person), session.pk, invocation_id)
    await wait_until_settled(session)
    assert await statuses(session) == ["failed", "failed"]
    assert "Wait until one of them is complete" in await last_text(session)


async def test_several_messages_above_the_limit_all_fail(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_invocations_per_user=1)
    busy, _ = await start_answer(person, model)
    session = await use_cases.create_session(person, "words")
    for number in range(3):
        await use_cases.send_message(actors.person(person), session.pk, f"m{number}", "hello")
    await wait_until_settled(session)
    assert await statuses(session) == ["failed"] * 3
    assert await statuses(busy) == ["running"]
    assert len(model.requests) == 1


async def test_the_queue_of_a_session_counts_as_one_invocation(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_invocations_per_user=1, max_invocations_per_app=1)
    model.turns = ["one", "two", "three"]
    session = await use_cases.create_session(person, "words")
    for number in range(3):
        await use_cases.send_message(actors.person(person), session.pk, f"m{number}", "hello")
    await worker().wait_until_idle()
    assert await statuses(session) == ["completed"] * 3


async def test_an_invocation_that_ends_meanwhile_is_not_counted(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_invocations_per_user=1, max_invocations_per_app=1)
    model.turns = ["Hello."]
    session = await use_cases.create_session(person, "words")
    await Session.objects.filter(pk=session.pk).aupdate(lease_owner="somebody", lease_token=1)
    async with held("UPDATE sessions_app_session SET lease_owner = ''"):
        sending = asyncio.create_task(
            use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
        )
        await blocked(1)
    await sending
    await worker().wait_until_idle()
    assert await statuses(session) == ["completed"]


@pytest.mark.parametrize("limit", ["max_invocations_per_user", "max_invocations_per_app"])
async def test_the_limit_holds_for_sessions_claimed_in_the_same_instant(
    person: User, model: ScriptedModel, configure: Configure, limit: str
) -> None:
    configure(**{limit: 3})
    end = asyncio.Event()
    model.turns = [end] * 10
    sessions = [await queue_only(person, "words", "m1") for _ in range(10)]
    await asyncio.gather(*(worker().start_next(session.pk) for session in sessions))
    end.set()
    await worker().wait_until_idle()
    assert (
        sorted([(await statuses(session))[0] for session in sessions]) == ["completed"] * 3 + ["failed"] * 7
    )


@pytest.mark.parametrize("kind", ["answer:1", "job:1", "schedule:1:1"])
async def test_answers_and_scheduled_tasks_are_exempt_from_the_limit(
    person: User, model: ScriptedModel, configure: Configure, kind: str
) -> None:
    configure(max_invocations_per_user=1, max_invocations_per_app=1)
    await start_answer(person, model)
    model.turns = ["Noted.", "Noted, too."]
    queued = await queue_only(person, "words", kind)
    await worker().run_queue(queued.pk)
    assert await statuses(queued) == ["completed"]
    at_once = await use_cases.create_session(person, "words")
    await worker().start(
        NewInvocation(at_once.pk, user_id=person.pk, client_id=kind, message=content_to_json(say("hello")))
    )
    await wait_until_settled(at_once)
    assert await statuses(at_once) == ["completed"]


async def test_a_resumed_invocation_is_exempt_from_the_limit(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_invocations_per_user=1)
    session, _ = await start_answer(person, model)
    past = timezone.now() - timedelta(seconds=1)
    await Session.objects.filter(pk=session.pk).aupdate(lease_expires_at=past)
    assert await leases.take_back_expired() == [session.pk]
    await start_answer(person, model)
    model.turns = ["Hello."]
    await InvocationWorker(live()).run_queue(session.pk)
    assert await statuses(session) == ["completed"]


@pytest.mark.parametrize(("limits", "locks"), [({}, 0), ({"max_invocations_per_user": 1}, 1)])
async def test_without_a_limit_no_statement_is_added(
    person: User,
    model: ScriptedModel,
    configure: Configure,
    statements: list[str],
    limits: dict[str, int],
    locks: int,
) -> None:
    configure(**limits)
    model.turns = ["Hello."]
    session = await queue_only(person, "words", "m1")
    statements.clear()
    task = await worker().start_next(session.pk)
    assert len(statements) == 1 + locks
    assert task is not None
    await task
    session = await use_cases.create_session(person, "words")
    model.turns = ["Hello."]
    statements.clear()
    await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    assert len(statements) == 1 + locks
    await worker().wait_until_idle()
