"""Alternatives: an edited message and a regenerated answer can be returned to, with all that followed (contract R3)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.sessions.state import ScopedState
from runtime.tools import FunctionTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.data_protection.transcripts.stream import read_batches
from sessions_app.errors import ConflictError, NotFoundError
from sessions_app.history.alternatives import find_forks
from sessions_app.history.rewinds import find_rewinds
from sessions_app.invocations import rewind
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Invocation, Session, ToolJob
from sessions_app.sessions.list.search import search_sessions
from sessions_app.store.sql import session_lease
from tests.fakes import ScriptedModel, call
from tests.integration.invocations.rewind_helpers import ask, edit, load_note, remember, write
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    model = ScriptedModel()
    served(LlmAgent(name="shop", model=model, tools=[remember, write]))
    return model


async def seq_of(session: Session, invocation_id: str) -> int:
    """Return the number of the message that began the invocation."""
    first = await session.events.filter(invocation_id=invocation_id).order_by("seq").afirst()
    assert first is not None
    return first.seq


async def switch(person: User, session: Session, invocation_id: str) -> None:
    """Switch to the alternative that the invocation began."""
    await use_cases.switch_alternative(
        actors.person(person), session.id, await seq_of(session, invocation_id)
    )


async def back_at_the_first(person: User, model: ScriptedModel) -> tuple[Session, str]:
    """Begin a session with the message "one", edited to "two", and switch back; return it and the edit's invocation."""
    session = await use_cases.create_session(person, "shop")
    one = await ask(person, session, model, "one")
    two = await edit(person, session, model, "two", one)
    await switch(person, session, one)
    return session, two


async def shown(session: Session) -> list[tuple[int, int, int]]:
    """Return position, number and count of the alternative at each fork of the conversation as it is now."""
    await session.arefresh_from_db()
    rewinds = await sync_to_async(find_rewinds)(session.pk, session.last_seq)
    found = await sync_to_async(find_forks)(session, rewinds)
    return [(fork.seq, fork.number, fork.count) for fork in found]


def said(model: ScriptedModel) -> list[str]:
    """Return the messages of the person in the latest request."""
    contents = [content for content in model.requests[-1].contents if content.role == "user"]
    return [part.text for content in contents for part in content.parts or [] if part.text]


async def test_each_of_three_versions_comes_back_with_its_answer_state_and_files(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "shop")
    await ask(person, session, model, "zero", [call("remember", value="0"), call("write", text="0")])
    one = await ask(person, session, model, "one", [call("remember", value="1"), call("write", text="1")])
    two = await edit(person, session, model, "two", one)
    after = await ask(person, session, model, "after", [call("remember", value="2")])
    three = await edit(person, session, model, "three", two)
    assert await shown(session) == [(await seq_of(session, three), 3, 3)]
    for invocation, number, state, note, words in (
        (one, 1, "1", "1", ["zero", "one"]),
        (two, 2, "2", "0", ["zero", "two", "after"]),
        (three, 3, "0", "0", ["zero", "three"]),
        (one, 1, "1", "1", ["zero", "one", "more 2"]),
    ):
        await switch(person, session, invocation)
        assert await shown(session) == [(await seq_of(session, invocation), number, 3)]
        assert (await Session.objects.aget(pk=session.pk)).state == {"value": state}
        assert await load_note(session) == types.Part(text=note)
        if number == 1:
            await ask(person, session, model, f"more {len(words)}")
            assert said(model) == [*words, f"more {len(words)}"]
    await switch(person, session, after)
    await ask(person, session, model, "last")
    assert said(model) == ["zero", "two", "after", "last"]
    log = [event async for event in Event.objects.filter(session=session).order_by("seq")]
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    replayed: dict[str, Any] = {}
    for event in log:
        replayed |= ScopedState.split(event.body["actions"].get("stateDelta") or {}).session
    assert replayed == (await Session.objects.aget(pk=session.pk)).state


async def test_an_inner_alternative_is_as_it_was_left(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    outer = await ask(person, session, model, "outer")
    inner = await ask(person, session, model, "inner")
    inner_two = await edit(person, session, model, "inner two", inner)
    other = await edit(person, session, model, "other", outer)
    assert await shown(session) == [(await seq_of(session, other), 2, 2)]
    await switch(person, session, outer)
    assert await shown(session) == [
        (await seq_of(session, outer), 1, 2),
        (await seq_of(session, inner_two), 2, 2),
    ]
    await switch(person, session, inner)
    await switch(person, session, other)
    await switch(person, session, outer)
    assert await shown(session) == [
        (await seq_of(session, outer), 1, 2),
        (await seq_of(session, inner), 1, 2),
    ]
    await ask(person, session, model, "more")
    assert said(model) == ["outer", "inner", "more"]


async def test_search_and_exports_have_what_is_in_effect(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    await ask(person, session, model, "zero")
    one = await ask(person, session, model, "apples")
    await edit(person, session, model, "pears", one)
    await switch(person, session, one)
    await session.arefresh_from_db()
    bodies = [event.body async for batch in read_batches(session) for event in batch.events]
    assert [body["content"]["parts"][0]["text"] for body in bodies] == [
        "zero",
        "you said zero",
        "apples",
        "you said apples",
    ]
    assert (await sync_to_async(search_sessions)(person, "apples")).sessions == [session]
    assert (await sync_to_async(search_sessions)(person, "pears")).sessions == []


async def test_a_switch_gives_the_title_of_the_first_message_and_keeps_that_of_a_person(
    person: User, model: ScriptedModel
) -> None:
    session, two = await back_at_the_first(person, model)
    assert (await Session.objects.aget(pk=session.pk)).title == "one"
    await switch(person, session, two)
    assert (await Session.objects.aget(pk=session.pk)).title == "two"
    await Session.objects.filter(pk=session.pk).aupdate(title="as before the switch")
    await switch(person, session, two)  # again, as after a crash
    assert (await Session.objects.aget(pk=session.pk)).title == "two"
    await use_cases.change_session(actors.person(person), session.id, "rename", "mine")
    await switch(person, session, two)
    assert (await Session.objects.aget(pk=session.pk)).title == "mine"


async def test_a_switch_to_what_is_in_effect_appends_nothing(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    one = await ask(person, session, model, "one")
    await switch(person, session, one)
    assert await Event.objects.filter(session=session).acount() == 2


async def test_a_switch_needs_an_event_of_ones_own_session(
    person: User, model: ScriptedModel, django_user_model: type[User]
) -> None:
    session = await use_cases.create_session(person, "shop")
    one = await ask(person, session, model, "one")
    await edit(person, session, model, "two", one)
    stranger = await django_user_model.objects.acreate(username="bob")
    with pytest.raises(NotFoundError):
        await switch(stranger, session, one)
    rewind_seq = 3
    for seq in (rewind_seq, 6, 2**63 - 1):
        with pytest.raises(NotFoundError, match="no such version"):
            await use_cases.switch_alternative(actors.person(person), session.id, seq)
    assert await Event.objects.filter(session=session).acount() == 5


async def test_a_switch_is_refused_while_an_answer_is_written(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    one = await ask(person, session, model, "one")
    await edit(person, session, model, "two", one)
    model.turns = [hold := asyncio.Event()]
    await use_cases.send_message(actors.person(person), session.id, "three", "three")
    with pytest.raises(ConflictError, match="Stop it first"):
        await switch(person, session, one)
    hold.set()
    await worker().wait_until_idle()
    assert await Event.objects.filter(session=session).rewinds().acount() == 1


async def test_equal_switches_at_once_are_one(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    one = await ask(person, session, model, "one")
    await edit(person, session, model, "two", one)
    results = await asyncio.gather(*(switch(person, session, one) for _ in range(5)), return_exceptions=True)
    refused = [result for result in results if result is not None]
    assert all(isinstance(error, ConflictError) for error in refused) and len(refused) < 5
    assert await Event.objects.filter(session=session).rewinds().acount() == 2
    assert await shown(session) == [(1, 1, 2)]


async def test_different_switches_at_once_leave_one_way(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    one = await ask(person, session, model, "one")
    two = await edit(person, session, model, "two", one)
    await edit(person, session, model, "three", two)
    results = await asyncio.gather(
        switch(person, session, one), switch(person, session, two), return_exceptions=True
    )
    assert [
        result for result in results if result is not None and not isinstance(result, ConflictError)
    ] == []
    assert len(await shown(session)) == 1
    await ask(person, session, model, "four")
    assert said(model) in (["one", "four"], ["two", "four"])


async def test_an_edit_from_a_tab_that_has_not_seen_the_switch_is_refused(
    person: User, model: ScriptedModel
) -> None:
    session, two = await back_at_the_first(person, model)
    with pytest.raises(NotFoundError, match="replaced already"):
        await use_cases.edit_message(actors.person(person), session.id, "late", "three", two)
    assert await shown(session) == [(1, 1, 2)]


async def test_a_question_waits_again_when_its_alternative_comes_back(
    person: User, model: ScriptedModel, served: Served
) -> None:
    tool = FunctionTool(remember, require_confirmation=True)
    app = App(name="shop", root_agent=LlmAgent(name="agent", model=model, tools=[tool]))
    served(app)
    session = await use_cases.create_session(person, "shop")
    one = await ask(person, session, model, "one", call("remember", value="1"))
    question = await Event.objects.aget(session=session, body__longRunningToolIds__isnull=False, kind="call")
    (call_id,) = question.body["longRunningToolIds"]
    answer = (call_id, REQUEST_CONFIRMATION, {"confirmed": True})
    await edit(person, session, model, "two", one)
    assert (await Invocation.objects.aget(invocation_id=one)).status == "cancelled"
    with pytest.raises(NotFoundError):
        await use_cases.answer_call(actors.person(person), session.id, *answer)
    await switch(person, session, one)
    assert (await Invocation.objects.aget(invocation_id=one)).status == "waiting"
    model.turns = ["kept"]
    await use_cases.answer_call(actors.person(person), session.id, *answer)
    await worker().wait_until_idle()
    assert (await Session.objects.aget(pk=session.pk)).state == {"value": "1"}
    assert (await Invocation.objects.aget(invocation_id=one)).status == "completed"


async def test_a_cancelled_job_stays_cancelled_and_tells_the_agent_when_its_call_comes_back(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await use_cases.create_session(person, "shop")
    one = await ask(person, session, model, "one")
    body = {
        "id": "asks",
        "author": "agent",
        "invocationId": one,
        "content": {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "slow", "args": {}}}]},
        "longRunningToolIds": ["c1"],
        "actions": {},
        "timestamp": 1e9,
    }
    await Event.objects.acreate(session=session, seq=3, body=body)
    await Session.objects.filter(pk=session.pk).aupdate(last_seq=3)
    await Invocation.objects.filter(invocation_id=one).aupdate(status="waiting")
    names = {"tool_name": "slow", "task_name": "t", "agent_name": "agent"}
    job = await ToolJob.objects.acreate(session=session, invocation_id=one, call_id="c1", **names)
    monkeypatch.setattr("sessions_app.jobs.response.offer_session", lambda session_id: None)
    await edit(person, session, model, "two", one)
    await job.arefresh_from_db()
    assert job.status == "cancelled" and job.delivered_at is not None
    model.turns = ["It was cancelled."]
    await switch(person, session, one)
    await worker().wait_until_idle()
    await job.arefresh_from_db()
    assert job.status == "cancelled" and model.turns == []
    responses = [event async for event in session.events.filter(kind="response")]
    assert [
        event.body["content"]["parts"][0]["functionResponse"]["response"]["status"] for event in responses
    ] == ["cancelled"]
    assert (await Invocation.objects.aget(invocation_id=one)).status == "completed"


async def sweep(person: User, session: Session, invocation_id: str) -> None:
    """Do what a sweep does for the session of a process that died with its lease."""
    token = await session_lease.acquire(session.pk, owner="sweep", lease_seconds=60)
    assert token
    await rewind.finish_interrupted_rewind(session.pk, token)


@pytest.mark.parametrize("finish", [switch, sweep])
async def test_a_repeated_switch_or_a_sweep_finishes_one_whose_process_died(
    person: User,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    finish: Callable[[User, Session, str], Awaitable[None]],
) -> None:
    session = await use_cases.create_session(person, "shop")
    one = await ask(person, session, model, "one")
    two = await edit(person, session, model, "two", one)
    names = {"tool_name": "t", "task_name": "t", "call_id": "c1"}
    job = await ToolJob.objects.acreate(session=session, invocation_id=two, status="waiting", **names)

    async def crash(*args: Any) -> None:
        raise ConnectionError("killed")

    with monkeypatch.context() as patch, pytest.raises(ConnectionError):
        patch.setattr(rewind, "reconcile_after_rewind", crash)
        await switch(person, session, one)
    assert await shown(session) == [(1, 1, 2)]
    await finish(person, session, one)
    await job.arefresh_from_db()
    assert (job.status, await Event.objects.filter(session=session).rewinds().acount()) == ("cancelled", 2)
