"""Ends of invocations: every one ends, even if its end cannot be written, and waiting ones end with their answer."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models.llm_response import LlmResponse
from runtime.tools import LongRunningFunctionTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import FilesUnavailableError
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, Session
from sessions_app.rendering.session_view import SITE_READER
from sessions_app.store.history_cache import cache
from tests.fakes import ScriptedModel, call, text_content
from tests.integration.locks import blocked, held
from tests.integration.tampering import tamper_async
from tests.served_agents import Served, wait_for_requests

pytestmark = pytest.mark.usefixtures("loop_end")


class LostFilesError(FilesUnavailableError):
    """Files of one kind are away."""


BROKEN = ConnectionError("the model is away")
UNREADABLE = {
    "author": "words",
    "content": {"role": "model", "parts": [{"text": {"bold": "Hello."}}]},
}
SAID = {"role": "user", "parts": [{"text": "are you there?"}]}


def ask_somebody(about: str) -> None:
    """Ask somebody, who answers later."""


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    scripted = ScriptedModel()
    tools = [LongRunningFunctionTool(ask_somebody, answered_by="person")]
    app = App(name="words", root_agent=LlmAgent(name="words", model=scripted, tools=tools))
    served(app)
    return scripted


async def rows_of(session: Session) -> list[Invocation]:
    return [row async for row in Invocation.objects.filter(session=session).order_by("id")]


async def statuses(session: Session) -> list[str]:
    return [row.status for row in await rows_of(session)]


async def greet(person: User, model: ScriptedModel) -> Session:
    """Return a session with one answered message."""
    model.turns = ["Hello."]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "hi")
    await worker().wait_until_idle()
    return session


async def test_a_subclass_of_a_refusal_has_its_outcome(person: User, model: ScriptedModel) -> None:
    session = await greet(person, model)
    model.turns = [LostFilesError()]
    await use_cases.send_message(actors.person(person), session.pk, "m2", "and?")
    await worker().wait_until_idle()
    assert [row.error_code for row in await rows_of(session)] == ["", "FILES_UNAVAILABLE"]


async def replace_last_event(session: Session, body: dict[str, Any]) -> Event:
    """Replace the body of the last event in the log, and return the event as it was."""
    event = await Event.objects.filter(session=session).alatest("seq")
    await replace_body(session, event, body)
    return event


async def replace_body(session: Session, event: Event, body: dict[str, Any]) -> None:
    await tamper_async(lambda: Event.objects.filter(pk=event.pk).update(body=body))
    cache.forget((session.app_name, str(session.user_id), session.key))


async def test_the_end_is_written_when_the_invocations_task_is_cancelled_during_the_write(
    person: User, model: ScriptedModel
) -> None:
    answer = asyncio.Event()
    model.turns = [answer]
    session = await use_cases.create_session(person, "words")
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "hi")
    await wait_for_requests(model, 1)
    task = worker()._running[invocation_id].task
    async with held("SELECT FROM sessions_app_invocation FOR UPDATE"):
        answer.set()
        await blocked(1)
        task.cancel()
        await asyncio.wait([task])
        idle = asyncio.create_task(worker().wait_until_idle())
        await asyncio.sleep(0)
        assert not idle.done()
    await idle
    assert await statuses(session) == ["completed"]


class TestEndsThatCannotBeWritten:
    """The invocation's row shows the end, and the session goes on."""

    async def test_the_invocation_fails_once_with_a_sentence_and_the_next_one_runs(
        self, person: User, model: ScriptedModel, caplog: pytest.LogCaptureFixture
    ) -> None:
        session = await greet(person, model)
        await replace_last_event(session, UNREADABLE)
        watcher = Mock(reader=SITE_READER)
        live().hub.watch(session.pk, watcher)
        for number in (2, 3):
            await use_cases.send_message(actors.person(person), session.pk, f"m{number}", "are you there?")
        await worker().wait_until_idle()
        _, *rows = await rows_of(session)
        assert [(row.status, row.attempts) for row in rows] == [("failed", 1)] * 2
        for row in rows:
            assert "Something went wrong" in row.error_message
            assert f"The log of invocation {row.invocation_id} could not be closed" in caplog.text
        notices = [call.args[0].notice for call in watcher.on_notice.call_args_list]
        ends = [notice.error for notice in notices if notice.status == "failed"]
        assert ends == [row.error_message for row in rows]
        await session.arefresh_from_db()
        assert session.lease_owner == ""

    async def test_a_known_reason_is_kept_when_the_log_cannot_be_written(
        self, person: User, model: ScriptedModel
    ) -> None:
        """The invocation was resumed too often, by processes that could not read the log either."""
        session = await greet(person, model)
        await replace_last_event(session, UNREADABLE)
        await Invocation.objects.acreate(
            session=session, invocation_id="e-2", client_id="m2", message=SAID, attempts=8
        )
        await worker().run_queue(session.pk)
        row = await Invocation.objects.aget(invocation_id="e-2")
        assert (row.status, row.error_code) == ("failed", "INTERRUPTED")

    async def test_an_error_text_that_postgresql_cannot_store_is_replaced(
        self, person: User, model: ScriptedModel
    ) -> None:
        model.turns = [LlmResponse(error_code="BAD\0", error_message="It broke: \0 and \ud800.")]
        session = await use_cases.create_session(person, "words")
        await use_cases.send_message(actors.person(person), session.pk, "m1", "hi")
        await worker().wait_until_idle()
        row = await Invocation.objects.aget(session=session)
        assert (row.status, row.error_code) == ("failed", "BAD\ufffd")
        assert row.error_message == "It broke: \ufffd and \ufffd."

    async def test_messages_to_an_app_that_is_no_longer_registered_fail(
        self, person: User, model: ScriptedModel, served: Served
    ) -> None:
        session = await greet(person, model)
        served()
        for number in (2, 3):
            await use_cases.send_message(actors.person(person), session.pk, f"m{number}", "are you there?")
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "failed", "failed"]
        last = await Event.objects.filter(session=session).alatest("seq")
        assert last.body["errorCode"] == "NotFoundError"

    async def test_the_next_message_is_answered_after_a_stopped_one_whose_app_is_no_longer_registered(
        self, person: User, model: ScriptedModel, served: Served
    ) -> None:
        session = await greet(person, model)
        for number, cancelled_at in ((2, timezone.now()), (3, None)):
            await Invocation.objects.acreate(
                session=session,
                invocation_id=f"e-{number}",
                client_id=f"m{number}",
                message=SAID,
                cancel_requested_at=cancelled_at,
            )
        served()
        await worker().start_next(session.pk)
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "cancelled", "failed"]

    async def test_a_retry_succeeds_when_the_log_is_readable_again(
        self, person: User, model: ScriptedModel
    ) -> None:
        session = await greet(person, model)
        before = await replace_last_event(session, UNREADABLE)
        failed, _ = await use_cases.send_message(actors.person(person), session.pk, "m2", "are you there?")
        await worker().wait_until_idle()
        await replace_body(session, before, before.body)
        model.turns = ["Yes."]
        await use_cases.retry(actors.person(person), session.pk, failed)
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "completed"]
        last = await Event.objects.filter(session=session).alatest("seq")
        assert last.text == "Yes."


class TestWaitingInvocations:
    """A waiting invocation is completed when its answer is in the log, however the answering invocation ended."""

    async def test_completes_when_the_answering_invocation_is_cancelled(
        self, person: User, model: ScriptedModel
    ) -> None:
        session, calls = await ask(person, model)
        answering = await answer(person, session, model, calls[0], asyncio.Event())
        await wait_for_requests(model, 2)
        await use_cases.cancel(actors.person(person), session.pk, answering)
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "cancelled"]

    async def test_completes_when_the_answering_invocation_fails(
        self, person: User, model: ScriptedModel
    ) -> None:
        session, calls = await ask(person, model)
        await answer(person, session, model, calls[0], BROKEN)
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "failed"]

    async def test_completes_when_the_model_reports_an_error(
        self, person: User, model: ScriptedModel
    ) -> None:
        session, calls = await ask(person, model)
        refusal = LlmResponse(content=text_content("Half an"), error_code="OTHER", error_message="It broke.")
        await answer(person, session, model, calls[0], refusal)
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "failed"]

    async def test_completes_when_the_answering_invocation_is_cancelled_before_another_process_claims_it(
        self, person: User, model: ScriptedModel
    ) -> None:
        """The answer is committed together with the end."""
        session, calls = await ask(person, model)
        await worker().close()  # Nothing begins in this process any more.
        answering = await answer(person, session, model, calls[0], "Never said.")
        await use_cases.cancel(actors.person(person), session.pk, answering)
        await InvocationWorker(live()).run_queue(session.pk)
        assert await statuses(session) == ["completed", "cancelled"]

    async def test_completes_when_the_answering_invocation_is_cancelled_in_the_queue(
        self, person: User, model: ScriptedModel
    ) -> None:
        """The answer is not lost: the model gets it with the next message."""
        session, calls = await ask(person, model)
        end = asyncio.Event()
        model.turns = [end]
        await use_cases.send_message(actors.person(person), session.pk, "m2", "meanwhile")
        await wait_for_requests(model, 2)
        answering = await answer(person, session, model, calls[0], "Never said.")
        await use_cases.cancel(actors.person(person), session.pk, answering)
        end.set()
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "completed", "cancelled"]
        assert model.turns == ["Never said."]
        model.turns = ["I see."]
        await use_cases.send_message(actors.person(person), session.pk, "m3", "and?")
        await worker().wait_until_idle()
        assert "many" in str(model.requests[-1].contents)

    async def test_keeps_waiting_for_the_other_answers(self, person: User, model: ScriptedModel) -> None:
        session, calls = await ask(person, model, "ants", "bees")
        await answer(person, session, model, calls[0], BROKEN)
        await worker().wait_until_idle()
        assert await statuses(session) == ["waiting", "failed"]
        await answer(person, session, model, calls[1], BROKEN)
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "failed", "failed"]


async def ask(person: User, model: ScriptedModel, *about: str) -> tuple[Session, list[str]]:
    """Return a session whose agent called `ask_somebody`, and the ids of the calls."""
    model.turns = [[call("ask_somebody", about=thing) for thing in about or ("ants",)]]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "ask them")
    await worker().wait_until_idle()
    assert await statuses(session) == ["waiting"]
    event = await Event.objects.aget(session=session, kind="call")
    return session, [part["functionCall"]["id"] for part in event.body["content"]["parts"]]


async def answer(person: User, session: Session, model: ScriptedModel, call_id: str, turn: Any) -> str:
    """Answer a call; the model then plays the turn. Return the id of the answering invocation."""
    model.turns = [turn]
    response = {"said": "many"}
    invocation_id, _ = await use_cases.answer_call(
        actors.person(person), session.pk, call_id, "ask_somebody", response
    )
    return invocation_id
