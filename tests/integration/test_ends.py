"""What has begun ends, whatever goes wrong with its end; and what waited for an answer ends with it (R2, T5)."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models.llm_response import LlmResponse
from runtime.tools import LongRunningFunctionTool
from sessions_app import agent_registry, use_cases
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, Session
from sessions_app.services.history_cache import cache
from tests.fakes import ScriptedModel, call, text_content

pytestmark = pytest.mark.usefixtures("loop_end")
BROKEN = ConnectionError("the model is away")
OF_ANOTHER_VERSION = {
    "author": "words",
    "content": {"role": "model", "parts": [{"text": {"bold": "Hello."}}]},
}
SAID = {"role": "user", "parts": [{"text": "are you there?"}]}


def ask_somebody(about: str) -> None:
    """Ask somebody, who takes their time."""


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    scripted = ScriptedModel()
    tools = [LongRunningFunctionTool(ask_somebody)]
    app = App(name="words", root_agent=LlmAgent(name="words", model=scripted, tools=tools))
    monkeypatch.setattr(agent_registry, "apps", lambda: {"words": app})
    return scripted


async def rows_of(session: Session) -> list[Invocation]:
    return [row async for row in Invocation.objects.filter(session=session).order_by("id")]


async def statuses(session: Session) -> list[str]:
    return [row.status for row in await rows_of(session)]


async def when_asked(model: ScriptedModel, times: int) -> None:
    while len(model.requests) < times:
        await asyncio.sleep(0.01)


async def greeted(person: User, model: ScriptedModel) -> Session:
    """A conversation with one answer in it."""
    model.turns = ["Hello."]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(person, session.pk, "m1", "hi")
    await worker().wait_until_idle()
    return session


async def put_last_event(session: Session, body: dict[str, Any]) -> dict[str, Any]:
    """What a process of another version of the site has in the log, for one that reads it anew; returns what was."""
    event = await Event.objects.filter(session=session).alatest("seq")
    await Event.objects.filter(pk=event.pk).aupdate(body=body)
    cache.forget((session.app_name, str(session.user_id), session.key))
    return dict(event.body)


class TestEndsThatCannotBeWritten:
    """The row tells how it ended, and the session goes on."""

    async def test_it_fails_once_with_a_sentence_and_the_next_has_its_turn(
        self, person: User, model: ScriptedModel, caplog: pytest.LogCaptureFixture
    ) -> None:
        session = await greeted(person, model)
        await put_last_event(session, OF_ANOTHER_VERSION)
        watcher = Mock()
        live().hub.watch(session.pk, watcher)
        for number in (2, 3):
            await use_cases.send_message(person, session.pk, f"m{number}", "are you there?")
        await worker().wait_until_idle()
        _, *rows = await rows_of(session)
        assert [(row.status, row.attempts) for row in rows] == [("failed", 1)] * 2
        for row in rows:
            assert "Something went wrong" in row.error_message and row.invocation_id in row.error_message
            assert f"The log of invocation {row.invocation_id} could not be closed" in caplog.text
        notices = [call.args[0] for call in watcher.on_notice.call_args_list]
        ends = [notice.error for notice in notices if notice.status == "failed"]
        assert ends == [row.error_message for row in rows]
        await session.arefresh_from_db()
        assert session.lease_owner == ""

    async def test_a_reason_that_is_known_is_told_all_the_same(
        self, person: User, model: ScriptedModel
    ) -> None:
        """It was taken up too often: here by processes that could not read the log either."""
        session = await greeted(person, model)
        await put_last_event(session, OF_ANOTHER_VERSION)
        await Invocation.objects.acreate(
            session=session, invocation_id="e-2", client_id="m2", message=SAID, attempts=8
        )
        await worker().run_queue(session.pk)
        row = await Invocation.objects.aget(invocation_id="e-2")
        assert (row.status, row.error_code) == ("failed", "INTERRUPTED")

    async def test_a_model_whose_error_postgresql_cannot_hold_fails_like_any_other(
        self, person: User, model: ScriptedModel
    ) -> None:
        model.turns = [LlmResponse(error_code="BAD\0", error_message="It broke: \0 and \ud800.")]
        session = await use_cases.create_session(person, "words")
        await use_cases.send_message(person, session.pk, "m1", "hi")
        await worker().wait_until_idle()
        row = await Invocation.objects.aget(session=session)
        assert (row.status, row.error_code) == ("failed", "BAD\ufffd")
        assert row.error_message == "It broke: \ufffd and \ufffd."

    async def test_what_was_said_to_an_app_that_is_gone_fails_and_so_does_the_next(
        self, person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = await greeted(person, model)
        monkeypatch.setattr(agent_registry, "apps", lambda: {})
        for number in (2, 3):
            await use_cases.send_message(person, session.pk, f"m{number}", "are you there?")
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "failed", "failed"]
        last = await Event.objects.filter(session=session).alatest("seq")
        assert last.body["errorCode"] == "NotFoundError"

    async def test_what_a_later_version_can_read_again_goes_on(
        self, person: User, model: ScriptedModel
    ) -> None:
        session = await greeted(person, model)
        before = await put_last_event(session, OF_ANOTHER_VERSION)
        failed, _ = await use_cases.send_message(person, session.pk, "m2", "are you there?")
        await worker().wait_until_idle()
        await put_last_event(session, before)
        model.turns = ["Yes."]
        await use_cases.retry(person, session.pk, failed)
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "completed"]
        last = await Event.objects.filter(session=session).alatest("seq")
        assert last.text == "Yes."


class TestWhatWaitsForAnAnswer:
    """It waits no more when the answer is in the log, however the invocation ended that brought it."""

    async def test_the_answering_invocation_was_stopped(self, person: User, model: ScriptedModel) -> None:
        session, calls = await asked(person, model)
        answering = await answered(person, session, model, calls[0], asyncio.Event())
        await when_asked(model, 2)
        await use_cases.cancel(person, session.pk, answering)
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "cancelled"]

    async def test_it_failed(self, person: User, model: ScriptedModel) -> None:
        session, calls = await asked(person, model)
        await answered(person, session, model, calls[0], BROKEN)
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "failed"]

    async def test_the_model_could_not_answer(self, person: User, model: ScriptedModel) -> None:
        session, calls = await asked(person, model)
        refusal = LlmResponse(content=text_content("Half an"), error_code="OTHER", error_message="It broke.")
        await answered(person, session, model, calls[0], refusal)
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "failed"]

    async def test_it_was_to_be_stopped_before_another_process_took_it_up(
        self, person: User, model: ScriptedModel
    ) -> None:
        """The answer is written with its end."""
        session, calls = await asked(person, model)
        answering = await answered(person, session, model, calls[0], "Never said.")
        await worker().close()  # it had not begun
        await use_cases.cancel(person, session.pk, answering)
        await InvocationWorker(live()).run_queue(session.pk)
        assert await statuses(session) == ["completed", "cancelled"]

    async def test_it_was_stopped_while_it_waited_for_its_turn(
        self, person: User, model: ScriptedModel
    ) -> None:
        """The answer is not lost: the model reads it with the next message."""
        session, calls = await asked(person, model)
        end = asyncio.Event()
        model.turns = [end]
        await use_cases.send_message(person, session.pk, "m2", "meanwhile")
        await when_asked(model, 2)
        answering = await answered(person, session, model, calls[0], "Never said.")
        await use_cases.cancel(person, session.pk, answering)
        end.set()
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "completed", "cancelled"]
        assert model.turns == ["Never said."]
        model.turns = ["I see."]
        await use_cases.send_message(person, session.pk, "m3", "and?")
        await worker().wait_until_idle()
        assert "many" in str(model.requests[-1].contents)

    async def test_it_waits_on_for_answers_that_are_still_to_come(
        self, person: User, model: ScriptedModel
    ) -> None:
        session, calls = await asked(person, model, "ants", "bees")
        await answered(person, session, model, calls[0], BROKEN)
        await worker().wait_until_idle()
        assert await statuses(session) == ["waiting", "failed"]
        await answered(person, session, model, calls[1], BROKEN)
        await worker().wait_until_idle()
        assert await statuses(session) == ["completed", "failed", "failed"]


async def asked(person: User, model: ScriptedModel, *about: str) -> tuple[Session, list[str]]:
    """A conversation in which somebody was asked about things, and the ids of these calls."""
    model.turns = [[call("ask_somebody", about=thing) for thing in about or ("ants",)]]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(person, session.pk, "m1", "ask them")
    await worker().wait_until_idle()
    assert await statuses(session) == ["waiting"]
    event = await Event.objects.aget(session=session, kind="call")
    return session, [part["functionCall"]["id"] for part in event.body["content"]["parts"]]


async def answered(person: User, session: Session, model: ScriptedModel, call_id: str, turn: Any) -> str:
    """Somebody answers; the model then does what the turn says. Returns the id of the invocation that goes on."""
    model.turns = [turn]
    answer = {"said": "many"}
    begun, _ = await use_cases.answer_call(person, session.pk, call_id, "ask_somebody", answer)
    return begun
