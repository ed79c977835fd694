"""Rewind on PostgreSQL: log, state, artifacts, jobs and waiting calls (contract R3)."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import AsyncMock

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.errors import InvalidMessageError, InvocationNotFoundError
from runtime.events import Event as RuntimeEvent
from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.runners import Runner
from runtime.tools import FunctionTool
from sessions_app import use_cases
from sessions_app.agent_apps import registry
from sessions_app.base import actors, client_ids
from sessions_app.base.actors import Actor
from sessions_app.errors import ConflictError, NotFoundError
from sessions_app.history.evidence.integrity import flaw_in
from sessions_app.invocations import rewind
from sessions_app.invocations.reconcile import reconcile_after_rewind
from sessions_app.invocations.worker import worker
from sessions_app.jobs.response import queue_response
from sessions_app.models import Event, Invocation, Session, ToolJob
from sessions_app.store import DjangoSessionService
from sessions_app.store.sql import invocation_queue, leases, session_lease
from sessions_app.store.sql.invocation_queue import NewInvocation
from tests.fakes import ScriptedModel, call
from tests.integration.invocations.rewind_helpers import ask, go_back, load_note, remember, write
from tests.integration.locks import blocked, held
from tests.served_agents import Served
from tests.unit.runtime.engine.histories import story

pytestmark = pytest.mark.usefixtures("loop_end")


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    model = ScriptedModel()
    served(LlmAgent(name="shop", model=model, tools=[remember, write]))
    return model


async def row_of(invocation_id: str) -> Invocation:
    return await Invocation.objects.aget(invocation_id=invocation_id)


async def create_job(session: Session, invocation_id: str, **fields: Any) -> ToolJob:
    """Create a job of a call that the invocation made."""
    return await ToolJob.objects.acreate(
        session=session, invocation_id=invocation_id, call_id="c1", tool_name="t", task_name="t", **fields
    )


async def test_a_rewind_restores_state_artifacts_and_contents(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    await ask(person, session, model, "one", [call("remember", value="1"), call("write", text="1")])
    second = await ask(person, session, model, "two", [call("remember", value="2"), call("write", text="2")])
    await go_back(person, session.id, second)
    stored = await Session.objects.aget(pk=session.pk)
    assert stored.state == {"value": "1"}
    assert (await use_cases.create_session(person, "shop")).state == {}
    shared = await DjangoSessionService().create_session(app_name="shop", user_id=str(person.pk))
    assert shared.state == {"user:value": "2", "app:value": "2"}
    assert await load_note(session) == types.Part(text="1")
    await ask(person, session, model, "three")
    assert [text for text in story(model.requests[-1].contents) if "write" not in text] == [
        "user: one",
        "model: you said one",
        "user: three",
    ]
    log = [event async for event in Event.objects.filter(session=session).order_by("seq")]
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    rewind_event = log[8]
    assert (rewind_event.author, rewind_event.before) == ("user", {"value": "2"})
    assert rewind_event.body["actions"]["rewindBeforeInvocationId"] == second


async def test_a_rewind_restores_the_initial_state(person: User, model: ScriptedModel) -> None:
    service = DjangoSessionService()
    session = await service.create_session(
        app_name="shop", user_id=str(person.pk), state={"value": "given", "other": 1}
    )
    row = await Session.objects.aget(key=session.id)
    first = await ask(person, row, model, "one", [call("remember", value="1"), call("write", text="1")])
    await go_back(person, row.id, first)
    assert (await Session.objects.aget(pk=row.pk)).state == {"value": "given", "other": 1}
    assert await load_note(row) == types.Part(
        inline_data=types.Blob(data=b"", mime_type="application/octet-stream")
    )


async def test_a_rewind_is_refused_while_an_invocation_runs_or_is_queued(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    message = {"role": "user", "parts": [{"text": "two"}]}
    await invocation_queue.enqueue(
        NewInvocation(session.id, user_id=person.pk, invocation_id="e-2", client_id="two", message=message)
    )
    with pytest.raises(ConflictError, match="Stop it first"):
        await go_back(person, session.id, first)
    assert await leases.claim_next(session.id, owner="one", lease_seconds=60)
    with pytest.raises(ConflictError, match="Stop it first"):
        await go_back(person, session.id, first)
    await Invocation.objects.filter(invocation_id="e-2").adelete()  # The lease alone refuses the rewind, too.
    with pytest.raises(ConflictError, match="Stop it first"):
        await go_back(person, session.id, first)
    assert await Event.objects.filter(session=session).acount() == 2


async def test_a_rewind_needs_an_invocation_of_ones_own_that_is_not_rewound(
    person: User, model: ScriptedModel, django_user_model: type[User]
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    stranger = await django_user_model.objects.acreate(username="bob")
    with pytest.raises(NotFoundError):
        await go_back(stranger, session.id, first)
    with pytest.raises(NotFoundError):
        await go_back(person, session.id, "e-nothing")
    await go_back(person, session.id, first)
    await go_back(person, session.id, first)  # Idempotent.
    assert await Event.objects.filter(session=session).acount() == 3
    await ask(person, session, model, "two")
    with pytest.raises(NotFoundError):
        await go_back(person, session.id, first)
    runner = Runner(app=registry.get_app("shop"), session_service=DjangoSessionService())
    with pytest.raises(InvocationNotFoundError, match=first):
        await runner.rewind_async(
            user_id=str(person.pk), session_id=session.key, rewind_before_invocation_id=first
        )


async def test_a_message_sent_during_a_rewind_is_answered_after_it(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    model.turns = ["answer"]

    async def send_message(session: Session, lease_token: int, by: Actor) -> None:
        _, status = await use_cases.send_message(actors.person(person), session.pk, "two", "two")
        assert status == "queued" and not worker()._running
        with pytest.raises(ConflictError):
            await go_back(person, session.pk, first)

    monkeypatch.setattr(rewind, "reconcile_after_rewind", send_message)
    await go_back(person, session.id, first)
    await worker().wait_until_idle()
    log = Event.objects.filter(session=session).order_by("seq")
    assert [event.text async for event in log] == ["one", "you said one", None, "two", "answer"]


async def test_a_lost_lease_is_not_released(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    token = await session_lease.acquire(session.id, owner="me", lease_seconds=-1)
    assert token and await session_lease.acquire(session.id, owner="other", lease_seconds=60) is None
    assert await leases.take_back_expired() == [session.id]
    assert await session_lease.acquire(session.id, owner="other", lease_seconds=60) == token + 2
    await session_lease.release(session.id, token)
    assert (await Session.objects.aget(pk=session.pk)).lease_owner == "other"


async def test_jobs_of_rewound_calls_are_cancelled_and_never_answer(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    job = await create_job(session, first)
    await Invocation.objects.filter(invocation_id=first).aupdate(status="waiting")
    await go_back(person, session.id, first)
    await job.arefresh_from_db()
    assert job.status == "cancelled" and job.delivered_at is not None
    rows = [
        (row.invocation_id, row.status)
        async for row in Invocation.objects.filter(session=session).order_by("id")
    ]
    assert rows == [(first, "cancelled")]


async def test_a_call_whose_answer_was_rewound_may_be_answered_again(person: User, served: Served) -> None:
    model = ScriptedModel()
    ask = FunctionTool(remember, require_confirmation=True)
    app = App(name="shop", root_agent=LlmAgent(name="agent", model=model, tools=[ask]))
    served(app)
    session = await use_cases.create_session(person, "shop")
    model.turns = [call("remember", value="1"), "wait", "no", "wait again", "yes"]
    await use_cases.send_message(actors.person(person), session.id, "one", "one")
    await worker().wait_until_idle()
    second, _ = await use_cases.send_message(actors.person(person), session.id, "two", "two")
    await worker().wait_until_idle()
    question = await Event.objects.aget(session=session, body__longRunningToolIds__isnull=False, kind="call")
    (call_id,) = question.body["longRunningToolIds"]

    async def answer(*, confirmed: bool) -> None:
        name, verdict = REQUEST_CONFIRMATION, {"confirmed": confirmed}
        await use_cases.answer_call(actors.person(person), session.id, call_id, name, verdict)
        await worker().wait_until_idle()

    await answer(confirmed=False)
    with pytest.raises(ConflictError, match="rejected already by ada"):
        await answer(confirmed=True)
    await use_cases.edit_message(actors.person(person), session.id, "edit", "three", second)
    await worker().wait_until_idle()
    await answer(confirmed=True)
    assert (await Session.objects.aget(pk=session.pk)).state == {"value": "1"}
    assert await sync_to_async(flaw_in)(session.pk) is None


@pytest.mark.parametrize("is_noted", [True, False])
async def test_a_job_whose_answer_was_rewound_answers_again(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, *, is_noted: bool
) -> None:
    session = await use_cases.create_session(person, "shop")
    service = DjangoSessionService()
    stored = await service.get_session(app_name="shop", user_id=str(person.pk), session_id=session.key)
    assert stored is not None
    asks = types.Content(role="model", parts=[call("slow", "c1")])
    await service.append_event(
        stored, RuntimeEvent(author="agent", invocation_id="e-0", content=asks, long_running_tool_ids={"c1"})
    )
    job = await ToolJob.objects.acreate(
        session=session,
        invocation_id="e-0",
        call_id="c1",
        tool_name="slow",
        task_name="t",
        agent_name="agent",
    )
    second = await ask(person, session, model, "two")
    await ToolJob.objects.filter(pk=job.pk).aupdate(status="succeeded", result={"result": 7})
    monkeypatch.setattr("sessions_app.jobs.response.offer_session", lambda session_id: None)
    model.turns = ["it was 7"]
    await sync_to_async(queue_response)(job.pk)
    await worker().run_queue(session.pk)
    assert model.turns == []
    if not is_noted:  # The process that queued the answer died before it noted the delivery.
        await ToolJob.objects.filter(pk=job.pk).aupdate(delivered_at=None)
    model.turns = ["it was 7, again", "you said three"]
    await use_cases.edit_message(actors.person(person), session.id, "edit", "three", second)
    await worker().wait_until_idle()
    texts = [
        event.text async for event in Event.objects.filter(session=session, kind="message").order_by("seq")
    ]
    assert texts[-3:] == ["it was 7, again", "three", "you said three"]
    assert await sync_to_async(flaw_in)(session.pk) is None


async def test_a_repeated_rewind_finishes_one_whose_process_died(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    job = await create_job(session, first, status="waiting")
    await go_back(person, session.id, first)
    # The process died between marking the job as delivered and cancelling it.
    await ToolJob.objects.filter(pk=job.pk).aupdate(status="waiting", cancel_requested_at=None)
    await go_back(person, session.id, first)
    await job.arefresh_from_db()
    assert (job.status, await Invocation.objects.filter(session=session).acount()) == ("cancelled", 1)


async def test_an_answer_of_a_rewound_call_that_is_queued_during_the_rewind_is_cancelled(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    job = await create_job(session, first, status="succeeded")

    async def answer_first(session: Session, lease_token: int, by: Actor) -> None:
        await sync_to_async(queue_response)(job.pk)
        await reconcile_after_rewind(session, lease_token, by)

    monkeypatch.setattr(rewind, "reconcile_after_rewind", answer_first)
    await go_back(person, session.id, first)
    await worker().wait_until_idle()
    queued = await Invocation.objects.aget(session=session, client_id=f"job:{job.pk}")
    assert (queued.status, len(model.requests)) == ("cancelled", 1)


async def test_an_answer_that_is_queued_behind_the_back_of_a_rewind_leaves_no_trace(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The rewind begins and ends after the answer was made, and before it is queued."""
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    job = await create_job(session, first, status="succeeded")

    async def rewind_first(new: NewInvocation) -> Any:
        await go_back(person, session.id, first)
        return await invocation_queue.enqueue(new)

    monkeypatch.setattr("sessions_app.jobs.response.enqueue", rewind_first)
    monkeypatch.setattr("sessions_app.jobs.response.offer_session", lambda session_id: None)
    await sync_to_async(queue_response)(job.pk)
    with caplog.at_level("INFO"):
        await worker().run_queue(session.pk)
    queued = await Invocation.objects.aget(session=session, client_id=f"job:{job.pk}")
    assert (queued.status, queued.error_code) == ("cancelled", "")
    last = await Event.objects.filter(session=session).order_by("seq").alast()
    assert last and last.body["actions"]["rewindBeforeInvocationId"] == first
    assert "answers a call that a rewind has undone" in caplog.text


async def test_an_answer_that_is_invalid_for_another_reason_is_not_taken_for_rewound(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one", [call("remember", "c1", value="1")])
    job = await create_job(session, first, status="succeeded")
    model.turns = [InvalidMessageError("the code of the agent has checked a message of its own")]
    await sync_to_async(queue_response)(job.pk)
    await worker().run_queue(session.pk)
    queued = await Invocation.objects.aget(session=session, client_id=f"job:{job.pk}")
    assert (queued.status, queued.error_code) == ("failed", "InvalidMessageError")


async def test_a_process_that_has_lost_the_lease_cancels_and_reopens_nothing(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    job = await create_job(session, first, status="waiting")

    async def lose_lease(session: Session, lease_token: int, by: Actor) -> None:
        await Session.objects.filter(pk=session.pk).aupdate(lease_expires_at=timezone.now())
        assert len(await session_lease.take_over_expired(owner="sweep", lease_seconds=60)) == 1
        await reconcile_after_rewind(session, lease_token, by)

    monkeypatch.setattr(rewind, "reconcile_after_rewind", lose_lease)
    with pytest.raises(ConflictError):
        await go_back(person, session.id, first)
    await job.arefresh_from_db()
    assert (job.status, job.delivered_at) == ("waiting", None)


async def test_a_process_that_loses_the_lease_does_not_cancel_an_answer_that_has_begun(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    job = await create_job(session, first, status="succeeded")

    async def answer_first(session: Session, lease_token: int, by: Actor) -> None:
        await sync_to_async(queue_response)(job.pk)
        async with held("SELECT 1 FROM sessions_app_invocation WHERE status = 'queued' FOR UPDATE") as other:
            reconciling = asyncio.create_task(reconcile_after_rewind(session, lease_token, by))
            await blocked(1)
            await other.execute("UPDATE sessions_app_session SET lease_token = lease_token + 1")
            await other.execute(
                "UPDATE sessions_app_invocation SET status = 'running' WHERE status = 'queued'"
            )
        await reconciling

    monkeypatch.setattr(rewind, "reconcile_after_rewind", answer_first)
    with pytest.raises(ConflictError):
        await go_back(person, session.id, first)
    assert (await Invocation.objects.aget(client_id=f"job:{job.pk}")).status == "running"


async def test_an_answer_that_comes_during_a_rewind_stays_the_first(
    person: User, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rewind is held up at each place where it reads the jobs: the answer comes while it reopens the calls."""
    model = ScriptedModel()
    served(LlmAgent(name="agent", model=model, tools=[FunctionTool(remember, require_confirmation=True)]))
    session = await use_cases.create_session(person, "agent")
    by = actors.person(person)
    model.turns = [call("remember", value="1"), call("remember", value="2"), "done"]
    await use_cases.send_message(by, session.pk, "one", "one")
    await worker().wait_until_idle()
    second, _ = await use_cases.send_message(by, session.pk, "two", "two")
    await worker().wait_until_idle()
    asked = Event.objects.filter(session=session, body__longRunningToolIds__isnull=False, kind="call")
    question = await asked.order_by("seq").afirst()
    assert question is not None
    (call_id,) = question.body["longRunningToolIds"]
    response = types.FunctionResponse(id=call_id, name=REQUEST_CONFIRMATION, response={"confirmed": False})
    message = {"role": "user", "parts": [{"functionResponse": response.model_dump(exclude_none=True)}]}

    async def answer() -> invocation_queue.Queued | None:
        client_id = client_ids.of_answer(call_id)
        new = NewInvocation(session.pk, user_id=person.pk, client_id=client_id, message=message, by=by)
        return await invocation_queue.enqueue(new)

    async with (
        asyncio.timeout(20),
        held(f"SELECT 1 FROM sessions_app_invocation WHERE invocation_id = '{second}' FOR UPDATE") as row,
    ):
        rewinding = asyncio.create_task(go_back(person, session.pk, second))
        await blocked(1)  # It is about to cancel the second message.
        async with held("LOCK TABLE sessions_app_tooljob") as jobs:
            await row.commit()
            while (await row_of(second)).status != "cancelled":
                await asyncio.sleep(0.01)
            await blocked(1)
            answering = asyncio.create_task(answer())
            waiting = asyncio.create_task(blocked(2))
            await asyncio.wait([answering, waiting], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            await jobs.commit()
        await rewinding
    first = await answering
    again = await answer()
    assert first and again and again.is_repeated
    assert again.invocation_id == first.invocation_id
    await worker().wait_until_idle()


async def test_a_sweep_finishes_a_rewind_before_a_message_that_was_queued_during_it(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    job = await create_job(session, first, status="waiting")

    async def die(session: Session, lease_token: int, by: Actor) -> None:
        await use_cases.send_message(actors.person(person), session.pk, "two", "two")
        raise ConnectionError("killed")

    with monkeypatch.context() as patch, pytest.raises(ConnectionError):
        patch.setattr(rewind, "reconcile_after_rewind", die)
        patch.setattr(session_lease, "release", AsyncMock(return_value=False))
        await go_back(person, session.id, first)
    await Session.objects.filter(pk=session.pk).aupdate(lease_expires_at=timezone.now())
    ((pk, token),) = await session_lease.take_over_expired(owner="sweep", lease_seconds=60)
    model.turns = ["answer"]
    assert await leases.claim_next(pk, owner="other", lease_seconds=60) is None
    await rewind.finish_interrupted_rewind(pk, token)
    await worker().wait_until_idle()
    await job.arefresh_from_db()
    last = await Event.objects.filter(session=session).order_by("seq").alast()
    assert (job.status, last and last.text) == ("cancelled", "answer")
