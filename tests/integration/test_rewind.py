"""Going back to a message on PostgreSQL (R3): the log, the state and the files; what runs and what waits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.errors import InvocationNotFoundError
from runtime.events import Event as RuntimeEvent
from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.events.event_actions import EventActions
from runtime.runners import Runner
from runtime.tools import FunctionTool, ToolContext
from sessions_app import agent_registry, use_cases
from sessions_app.db import invocation_queue, leases, session_lease
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError
from sessions_app.history.rewinds import rewound_ranges
from sessions_app.invocations import rewind
from sessions_app.invocations.worker import worker
from sessions_app.jobs.response import queue_response
from sessions_app.models import Event, Invocation, Session, ToolJob
from sessions_app.services import DjangoArtifactService, DjangoSessionService
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.engine.histories import story

pytestmark = pytest.mark.usefixtures("loop_end")


def remember(value: str, tool_context: ToolContext) -> str:
    """Keep a value for the session, the user and everyone."""
    for scope in ("", "user:", "app:"):
        tool_context.state[f"{scope}value"] = value
    return value


async def write(text: str, tool_context: ToolContext) -> int:
    """Write a file."""
    return await tool_context.save_artifact("note.txt", types.Part(text=text))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    scripted = ScriptedModel()
    app = App(name="shop", root_agent=LlmAgent(name="agent", model=scripted, tools=[remember, write]))
    monkeypatch.setattr(agent_registry, "apps", lambda: {"shop": app})
    return scripted


async def told(person: User, session: Session, model: ScriptedModel, text: str, *turns: Any) -> str:
    """A whole invocation; returns its id."""
    model.turns = [*turns, f"you said {text}"]
    invocation_id, _ = await use_cases.send_message(person, session.id, f"client {text}", text)
    await worker().ended()
    return invocation_id


async def edited(person: User, session: Session, model: ScriptedModel, text: str, replaces: str) -> str:
    """An edit and its whole invocation; returns its id."""
    model.turns = [f"you said {text}"]
    invocation_id, _ = await use_cases.edit_message(person, session.id, "edit" + replaces, text, replaces)
    await worker().ended()
    return invocation_id


async def job_of(session: Session, invocation_id: str, **fields: Any) -> ToolJob:
    """A job of a call that the invocation made."""
    return await ToolJob.objects.acreate(
        session=session, invocation_id=invocation_id, call_id="c1", tool_name="t", task_name="t", **fields
    )


async def note(session: Session) -> types.Part | None:
    return await DjangoArtifactService().load_artifact(
        app_name="shop", user_id=str(session.user_id), session_id=session.key, filename="note.txt"
    )


async def test_the_session_goes_on_as_before_the_message(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    await told(person, session, model, "one", [call("remember", value="1"), call("write", text="1")])
    second = await told(person, session, model, "two", [call("remember", value="2"), call("write", text="2")])
    await use_cases.rewind(person, session.id, second)
    stored = await Session.objects.aget(pk=session.pk)
    assert stored.state == {"value": "1"}
    assert (await use_cases.create_session(person, "shop")).state == {}
    shared = await DjangoSessionService().create_session(app_name="shop", user_id=str(person.pk))
    assert shared.state == {"user:value": "2", "app:value": "2"}
    assert await note(session) == types.Part(text="1")
    await told(person, session, model, "three")
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


async def test_keys_of_the_creation_are_restored(person: User, model: ScriptedModel) -> None:
    service = DjangoSessionService()
    session = await service.create_session(
        app_name="shop", user_id=str(person.pk), state={"value": "given", "other": 1}
    )
    row = await Session.objects.aget(key=session.id)
    first = await told(person, row, model, "one", [call("remember", value="1"), call("write", text="1")])
    await use_cases.rewind(person, row.id, first)
    assert (await Session.objects.aget(pk=row.pk)).state == {"value": "given", "other": 1}
    assert await note(row) == types.Part(
        inline_data=types.Blob(data=b"", mime_type="application/octet-stream")
    )


async def test_nothing_is_rewound_while_something_runs_or_is_queued(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await told(person, session, model, "one")
    message = {"role": "user", "parts": [{"text": "two"}]}
    await invocation_queue.enqueue(
        session.id, user_id=person.pk, invocation_id="e-2", client_id="two", message=message
    )
    with pytest.raises(ConflictError, match="Stop it first"):
        await use_cases.rewind(person, session.id, first)
    assert await leases.claim_next(session.id, owner="one", lease_seconds=60)
    with pytest.raises(ConflictError, match="Stop it first"):
        await use_cases.rewind(person, session.id, first)
    await Invocation.objects.filter(invocation_id="e-2").adelete()  # the lease alone refuses it, too
    with pytest.raises(ConflictError, match="Stop it first"):
        await use_cases.rewind(person, session.id, first)
    assert await Event.objects.filter(session=session).acount() == 2


async def test_what_is_not_there_or_someone_elses_is_not_rewound(
    person: User, model: ScriptedModel, django_user_model: type[User]
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await told(person, session, model, "one")
    stranger = await django_user_model.objects.acreate(username="bob")
    with pytest.raises(NotFoundError):
        await use_cases.rewind(stranger, session.id, first)
    with pytest.raises(NotFoundError):
        await use_cases.rewind(person, session.id, "e-nothing")
    await use_cases.rewind(person, session.id, first)
    await use_cases.rewind(person, session.id, first)  # stands there already
    assert await Event.objects.filter(session=session).acount() == 3
    await told(person, session, model, "two")
    with pytest.raises(NotFoundError):
        await use_cases.rewind(person, session.id, first)
    runner = Runner(app=agent_registry.get_app("shop"), session_service=DjangoSessionService())
    with pytest.raises(InvocationNotFoundError, match=first):
        await runner.rewind_async(
            user_id=str(person.pk), session_id=session.key, rewind_before_invocation_id=first
        )


async def test_an_edited_message_takes_the_place_of_the_first_one(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    await told(person, session, model, "one", [call("remember", value="1"), call("write", text="1")])
    second = await told(person, session, model, "two", [call("remember", value="2"), call("write", text="2")])
    third = await edited(person, session, model, "three", second)
    assert (await Session.objects.aget(pk=session.pk)).state == {"value": "1"}
    assert await note(session) == types.Part(text="1")
    assert [text for text in story(model.requests[-1].contents) if "write" not in text][-1] == "user: three"
    fourth = await edited(person, session, model, "four", third)
    assert [part.first for part in await sync_to_async(rewound_ranges)(session.pk)] == [5, 10]
    invocations = Invocation.objects.filter(session=session).order_by("id")
    rows = [(row.invocation_id, row.status) async for row in invocations]
    assert rows[-2:] == [(third, "completed"), (fourth, "completed")]


async def test_an_edit_sent_again_changes_nothing(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await told(person, session, model, "one")
    model.turns = [hold := asyncio.Event()]
    second, _ = await use_cases.edit_message(person, session.id, "edit", "two", first)
    again = await use_cases.edit_message(person, session.id, "edit", "two", first)
    assert again == (second, "running")
    hold.set()
    await worker().ended()
    assert await use_cases.edit_message(person, session.id, "edit", "two", first) == (second, "completed")
    log = Event.objects.filter(session=session).order_by("seq")
    assert [event.text async for event in log] == ["one", "you said one", None, "two", "released"]


async def test_an_edit_that_died_before_its_message_was_queued_is_finished_by_a_retry(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await told(person, session, model, "one", call("remember", value="1"))

    async def die(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("killed")

    with monkeypatch.context() as killed, pytest.raises(ConnectionError):
        killed.setattr(invocation_queue, "enqueue", die)
        await use_cases.edit_message(person, session.id, "edit", "two", first)
    service = DjangoSessionService()
    stored = await service.get_session(app_name="shop", user_id=str(person.pk), session_id=session.key)
    assert stored is not None
    await service.append_event(
        stored, RuntimeEvent(author="user", actions=EventActions(state_delta={"x": 1}))
    )
    await edited(person, session, model, "two", first)
    log = Event.objects.filter(session=session).order_by("seq")
    assert [event.text async for event in log][-4:] == [None, None, "two", "you said two"]
    rewinds = [event.seq async for event in log.rewinds()]
    assert rewinds == [5]


async def test_two_equal_edits_at_once_make_one_message(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await told(person, session, model, "one")
    model.rule = lambda request: "answer"
    edits = (use_cases.edit_message(person, session.id, "edit", "two", first) for _ in range(5))
    results = await asyncio.gather(*edits, return_exceptions=True)
    refused = [result for result in results if isinstance(result, BaseException)]
    assert all(isinstance(error, ConflictError) for error in refused) and len(refused) < 5
    await worker().ended()
    log = Event.objects.filter(session=session).order_by("seq")
    assert [event.text async for event in log] == ["one", "you said one", None, "two", "answer"]


async def test_an_edit_is_refused_while_something_runs_and_nothing_is_lost(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await told(person, session, model, "one")
    model.turns = [hold := asyncio.Event()]
    await use_cases.send_message(person, session.id, "two", "two")
    with pytest.raises(ConflictError, match="Stop it first"):
        await use_cases.edit_message(person, session.id, "edit", "three", first)
    hold.set()
    await worker().ended()
    assert await Event.objects.filter(session=session).acount() == 4
    assert not await Event.objects.filter(session=session).rewinds().aexists()
    assert not await Invocation.objects.filter(client_id="edit").aexists()


async def test_a_message_that_was_replaced_elsewhere_is_not_replaced_again(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await told(person, session, model, "one")
    await edited(person, session, model, "two", first)
    with pytest.raises(NotFoundError, match="replaced already"):
        await use_cases.edit_message(person, session.id, "late", "three", first)
    with pytest.raises(InvalidInputError):
        await use_cases.edit_message(person, session.id, "empty", "  ", first)
    assert await Event.objects.filter(session=session).acount() == 5


async def test_what_is_sent_while_a_rewind_is_written_is_answered_after_it(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await told(person, session, model, "one")
    model.turns = ["answer"]

    async def send(session: Session) -> None:
        _, status = await use_cases.send_message(person, session.pk, "two", "two")
        assert status == "queued" and not worker()._running
        with pytest.raises(ConflictError):
            await use_cases.rewind(person, session.pk, first)

    monkeypatch.setattr(rewind, "settle_what_waits", send)
    await use_cases.rewind(person, session.id, first)
    await worker().ended()
    log = Event.objects.filter(session=session).order_by("seq")
    assert [event.text async for event in log] == ["one", "you said one", None, "two", "answer"]


async def test_a_lease_that_was_lost_is_not_given_back(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    token = await session_lease.acquire(session.id, owner="me", lease_seconds=-1)
    assert token and await session_lease.acquire(session.id, owner="other", lease_seconds=60) is None
    assert await leases.take_back_expired() == [session.id]
    assert await session_lease.acquire(session.id, owner="other", lease_seconds=60) == token + 2
    await session_lease.release(session.id, token)
    assert (await Session.objects.aget(pk=session.pk)).lease_owner == "other"


async def test_jobs_of_rewound_calls_are_cancelled_and_answer_nobody(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await told(person, session, model, "one")
    job = await job_of(session, first)
    await Invocation.objects.filter(invocation_id=first).aupdate(status="waiting")
    await use_cases.rewind(person, session.id, first)
    await job.arefresh_from_db()
    assert job.status == "cancelled" and job.delivered_at is not None
    rows = [
        (row.invocation_id, row.status)
        async for row in Invocation.objects.filter(session=session).order_by("id")
    ]
    assert rows == [(first, "cancelled")]


async def test_what_was_answered_after_the_message_may_be_answered_again(
    person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel()
    ask = FunctionTool(remember, require_confirmation=True)
    app = App(name="shop", root_agent=LlmAgent(name="agent", model=model, tools=[ask]))
    monkeypatch.setattr(agent_registry, "apps", lambda: {"shop": app})
    session = await use_cases.create_session(person, "shop")
    model.turns = [call("remember", value="1"), "wait", "no", "wait again", "yes"]
    await use_cases.send_message(person, session.id, "one", "one")
    await worker().ended()
    second, _ = await use_cases.send_message(person, session.id, "two", "two")
    await worker().ended()
    asked = await Event.objects.aget(session=session, body__longRunningToolIds__isnull=False, kind="call")
    (call_id,) = asked.body["longRunningToolIds"]

    async def answer(*, confirmed: bool) -> None:
        name, verdict = REQUEST_CONFIRMATION, {"confirmed": confirmed}
        await use_cases.answer_call(person, session.id, call_id, name, verdict)
        await worker().ended()

    await answer(confirmed=False)
    with pytest.raises(ConflictError, match="answered already"):
        await answer(confirmed=True)
    await use_cases.edit_message(person, session.id, "edit", "three", second)
    await worker().ended()
    await answer(confirmed=True)
    assert (await Session.objects.aget(pk=session.pk)).state == {"value": "1"}


async def test_a_job_whose_answer_was_undone_gives_it_again(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
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
    second = await told(person, session, model, "two")
    await ToolJob.objects.filter(pk=job.pk).aupdate(status="succeeded", result={"result": 7})
    monkeypatch.setattr("sessions_app.jobs.response.send_run_session", lambda session_id: None)
    model.turns = ["it was 7"]
    await sync_to_async(queue_response)(job.pk)
    await worker().run_queue(session.pk)
    assert model.turns == []
    model.turns = ["it was 7, again", "you said three"]
    await use_cases.edit_message(person, session.id, "edit", "three", second)
    await worker().ended()
    texts = [
        event.text async for event in Event.objects.filter(session=session, kind="message").order_by("seq")
    ]
    assert texts[-3:] == ["it was 7, again", "three", "you said three"]


async def test_who_goes_back_again_finishes_what_another_process_died_over(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await told(person, session, model, "one")
    job = await job_of(session, first, status="waiting")
    await use_cases.rewind(person, session.id, first)
    # It had marked the job as one that nobody is to answer, and had not cancelled it.
    await ToolJob.objects.filter(pk=job.pk).aupdate(status="waiting", cancel_requested_at=None)
    await use_cases.rewind(person, session.id, first)
    await job.arefresh_from_db()
    assert (job.status, await Invocation.objects.filter(session=session).acount()) == ("cancelled", 1)


async def test_the_answer_of_a_rewound_call_that_is_queued_at_that_moment_is_cancelled(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await told(person, session, model, "one")
    job = await job_of(session, first, status="succeeded")
    settle = rewind.settle_what_waits

    async def settle_late(session: Session) -> None:
        await sync_to_async(queue_response)(job.pk)
        await settle(session)

    monkeypatch.setattr(rewind, "settle_what_waits", settle_late)
    await use_cases.rewind(person, session.id, first)
    await worker().ended()
    queued = await Invocation.objects.aget(session=session, client_id=f"job:{job.pk}")
    assert (queued.status, len(model.requests)) == ("cancelled", 1)
