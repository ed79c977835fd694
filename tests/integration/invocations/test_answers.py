"""Answers to waiting calls: one answer counts, and only from the owner of the session (contract T5, T7)."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.tools import FunctionTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.base.client_ids import of_answer
from sessions_app.base.codec import content_to_json
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError, PermissionDeniedError
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Invocation, Session, ToolJob
from sessions_app.store.sql.invocation_queue import NewInvocation
from tests.fakes import ScriptedModel, call
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
DELETED: list[str] = []


def delete_file(name: str) -> str:
    """Delete a file."""
    DELETED.append(name)
    return f"{name} is deleted"


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    DELETED.clear()
    scripted = ScriptedModel()
    tools = [FunctionTool(delete_file, require_confirmation=True)]
    app = App(name="files", root_agent=LlmAgent(name="files", model=scripted, tools=tools))
    served(app)
    return scripted


async def request_confirmation(person: User, model: ScriptedModel) -> tuple[Session, str]:
    """Return a session that waits for a confirmation, and the id of the confirmation call."""
    model.turns = [call("delete_file", name="a.txt"), "Gone."]
    session = await use_cases.create_session(person, "files")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "delete a.txt")
    await worker().wait_until_idle()
    last = await Event.objects.filter(session=session).alatest("seq")
    (question,) = last.body["content"]["parts"]
    assert question["functionCall"]["name"] == REQUEST_CONFIRMATION
    return session, question["functionCall"]["id"]


async def answer(person: User, session_id: UUID, call_id: str, confirmed: bool = True) -> None:
    response = {"confirmed": confirmed, "payload": None}
    await use_cases.answer_call(actors.person(person), session_id, call_id, REQUEST_CONFIRMATION, response)
    await worker().wait_until_idle()


async def test_a_confirmed_call_runs_and_the_invocation_that_waited_is_completed(
    person: User, model: ScriptedModel
) -> None:
    session, call_id = await request_confirmation(person, model)
    assert DELETED == []
    assert (await Invocation.objects.aget(client_id="m1")).status == "waiting"
    await answer(person, session.pk, call_id)
    assert DELETED == ["a.txt"]
    assert (await Event.objects.filter(session=session).alatest("seq")).text == "Gone."
    assert (await Invocation.objects.aget(client_id="m1")).status == "completed"


async def test_a_second_answer_is_a_conflict_and_stores_nothing(person: User, model: ScriptedModel) -> None:
    session, call_id = await request_confirmation(person, model)
    await answer(person, session.pk, call_id, confirmed=False)
    before = await Event.objects.filter(session=session).acount()
    with pytest.raises(ConflictError, match="rejected already by ada"):
        await answer(person, session.pk, call_id)
    assert DELETED == []
    assert await Event.objects.filter(session=session).acount() == before


async def test_two_answers_at_once_count_as_one(person: User, model: ScriptedModel) -> None:
    session, call_id = await request_confirmation(person, model)
    results = await asyncio.gather(
        *(answer(person, session.pk, call_id) for _ in range(5)), return_exceptions=True
    )
    assert [type(result) for result in results if result] == [ConflictError] * 4
    assert DELETED == ["a.txt"]


async def test_an_answer_needs_the_owner_of_the_session_and_an_open_call(
    person: User, model: ScriptedModel
) -> None:
    session, call_id = await request_confirmation(person, model)
    stranger = await get_user_model().objects.acreate_user("eve")
    with pytest.raises(NotFoundError):
        await answer(stranger, session.pk, call_id)
    with pytest.raises(NotFoundError):
        await answer(person, session.pk, "adk-made-up")


async def test_the_result_of_a_job_cannot_be_forged(person: User, model: ScriptedModel) -> None:
    session, call_id = await request_confirmation(person, model)
    await ToolJob.objects.acreate(
        session=session, call_id=call_id, invocation_id="e-1", id=uuid4(), tool_name="x", task_name="x"
    )
    with pytest.raises(PermissionDeniedError, match="its job"):
        await answer(person, session.pk, call_id)


@pytest.mark.parametrize("word", ["answer:", "job:", "retry:", "schedule:", "undone:"])
async def test_a_message_cannot_use_a_client_id_that_is_reserved_for_the_site(
    person: User, model: ScriptedModel, word: str
) -> None:
    """A message with the client id of a job's response would otherwise replace that response."""
    session = await use_cases.create_session(person, "files")
    with pytest.raises(InvalidInputError, match="begins with a reserved prefix"):
        await use_cases.send_message(actors.person(person), session.pk, f"{word}{uuid4()}", "hello")
    assert not await Invocation.objects.filter(session=session).aexists()


async def test_a_call_with_the_longest_id_can_be_answered(person: User, model: ScriptedModel) -> None:
    longest = "c" * 128
    model.turns = ["Noted."]
    session = await use_cases.create_session(person, "files")
    content = types.Content(role="user", parts=[types.Part(text="yes")])
    queued = await worker().start(
        NewInvocation(
            session.pk, user_id=person.pk, client_id=of_answer(longest), message=content_to_json(content)
        )
    )
    await worker().wait_until_idle()
    assert queued is not None
    assert (await Invocation.objects.aget(session=session)).status == "completed"
