"""Edit of a message: a rewind and a new message, safe to repeat (contract R3)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from runtime import types
from runtime.agents import LlmAgent
from runtime.events import Event as RuntimeEvent
from runtime.events.event_actions import EventActions
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError
from sessions_app.history.rewinds import find_rewinds
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Invocation, Session
from sessions_app.store import DjangoSessionService
from sessions_app.store.sql import invocation_queue
from tests.fakes import ScriptedModel, call
from tests.integration.invocations.rewind_helpers import ask, edit, load_note, remember, write
from tests.served_agents import Served
from tests.unit.runtime.engine.histories import story

pytestmark = pytest.mark.usefixtures("loop_end")


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    model = ScriptedModel()
    served(LlmAgent(name="shop", model=model, tools=[remember, write]))
    return model


async def test_an_edited_message_replaces_the_first_one(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    await ask(person, session, model, "one", [call("remember", value="1"), call("write", text="1")])
    second = await ask(person, session, model, "two", [call("remember", value="2"), call("write", text="2")])
    third = await edit(person, session, model, "three", second)
    assert (await Session.objects.aget(pk=session.pk)).state == {"value": "1"}
    assert await load_note(session) == types.Part(text="1")
    assert [text for text in story(model.requests[-1].contents) if "write" not in text][-1] == "user: three"
    fourth = await edit(person, session, model, "four", third)
    (replaced,) = (await sync_to_async(find_rewinds)(session.pk)).ranges
    assert replaced.first == 5
    invocations = Invocation.objects.filter(session=session).order_by("id")
    rows = [(row.invocation_id, row.status) async for row in invocations]
    assert rows[-2:] == [(third, "completed"), (fourth, "completed")]


async def test_a_repeated_edit_changes_nothing(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    model.turns = [hold := asyncio.Event()]
    second, _ = await use_cases.edit_message(actors.person(person), session.id, "edit", "two", first)
    again = await use_cases.edit_message(actors.person(person), session.id, "edit", "two", first)
    assert again == (second, "running")
    hold.set()
    await worker().wait_until_idle()
    assert await use_cases.edit_message(actors.person(person), session.id, "edit", "two", first) == (
        second,
        "completed",
    )
    log = Event.objects.filter(session=session).order_by("seq")
    assert [event.text async for event in log] == ["one", "you said one", None, "two", "released"]


async def test_a_repeated_edit_finishes_one_that_crashed_before_its_message_was_queued(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one", call("remember", value="1"))

    async def crash(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("killed")

    with monkeypatch.context() as patch, pytest.raises(ConnectionError):
        patch.setattr(invocation_queue, "enqueue", crash)
        await use_cases.edit_message(actors.person(person), session.id, "edit", "two", first)
    service = DjangoSessionService()
    stored = await service.get_session(app_name="shop", user_id=str(person.pk), session_id=session.key)
    assert stored is not None
    await service.append_event(
        stored, RuntimeEvent(author="user", actions=EventActions(state_delta={"x": 1}))
    )
    await edit(person, session, model, "two", first)
    log = Event.objects.filter(session=session).order_by("seq")
    assert [event.text async for event in log][-4:] == [None, None, "two", "you said two"]
    rewinds = [event.seq async for event in log.rewinds()]
    assert rewinds == [5]


async def test_concurrent_equal_edits_make_one_message(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    model.rule = lambda request: "answer"
    edits = (
        use_cases.edit_message(actors.person(person), session.id, "edit", "two", first) for _ in range(5)
    )
    results = await asyncio.gather(*edits, return_exceptions=True)
    refused = [result for result in results if isinstance(result, BaseException)]
    assert all(isinstance(error, ConflictError) for error in refused) and len(refused) < 5
    await worker().wait_until_idle()
    log = Event.objects.filter(session=session).order_by("seq")
    assert [event.text async for event in log] == ["one", "you said one", None, "two", "answer"]


async def test_an_edit_is_refused_while_an_invocation_runs(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    model.turns = [hold := asyncio.Event()]
    await use_cases.send_message(actors.person(person), session.id, "two", "two")
    with pytest.raises(ConflictError, match="Stop it first"):
        await use_cases.edit_message(actors.person(person), session.id, "edit", "three", first)
    hold.set()
    await worker().wait_until_idle()
    assert await Event.objects.filter(session=session).acount() == 4
    assert not await Event.objects.filter(session=session).rewinds().aexists()
    assert not await Invocation.objects.filter(client_id="edit").aexists()


async def test_a_replaced_message_is_not_replaced_again(person: User, model: ScriptedModel) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    await edit(person, session, model, "two", first)
    with pytest.raises(NotFoundError, match="replaced already"):
        await use_cases.edit_message(actors.person(person), session.id, "late", "three", first)
    with pytest.raises(InvalidInputError):
        await use_cases.edit_message(actors.person(person), session.id, "empty", "  ", first)
    assert await Event.objects.filter(session=session).acount() == 5


async def test_an_edit_with_a_reserved_id_is_refused_before_the_rewind(
    person: User, model: ScriptedModel
) -> None:
    session = await use_cases.create_session(person, "shop")
    first = await ask(person, session, model, "one")
    with pytest.raises(InvalidInputError, match="reserved prefix"):
        await use_cases.edit_message(actors.person(person), session.id, "job:1", "two", first)
    assert not await Event.objects.filter(session=session).rewinds().aexists()
