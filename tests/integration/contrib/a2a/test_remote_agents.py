"""Questions of remote agents are forms, and an answer or a message ends the wait (contract A10)."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from runtime.agents.remote_a2a_agent import RemoteA2aAgent
from runtime.apps import App
from runtime.events.calls import REMOTE_INPUT
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.history.effective_events import effective_events
from sessions_app.invocations.worker import worker
from sessions_app.models import AnswerRequest, Event, Invocation, Session
from tests.a2a_server import Turn, remote_agent, text_of
from tests.integration.chat.pages.page_helpers import page
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")


async def asks(turn: Turn) -> None:
    await turn.begin()
    if turn.context.current_task is None:
        await turn.updater.requires_input(turn.words("Which <b>colour</b>?"))
    else:
        await turn.updater.complete(turn.words(f"{text_of(turn.message)} it is"))


@pytest.fixture
async def session(person: User, served: Served) -> AsyncGenerator[Session, None]:
    async with remote_agent(asks) as remote:
        app = App(name="painter", root_agent=RemoteA2aAgent("painter", remote.card))
        served(app)
        yield await Session.objects.acreate(app_name="painter", user=person, key="s-1")


async def say(person: User, session: Session, text: str) -> None:
    await use_cases.send_message(actors.person(person), session.pk, f"m-{text}", text)
    await worker().wait_until_idle()


async def waiting_call(session: Session) -> str:
    row: AnswerRequest = await AnswerRequest.objects.aget(session=session)
    assert (row.answered_by, row.effect) == ("person", "Which <b>colour</b>?")
    return row.call_id


async def last_text(session: Session) -> str:
    return (await effective_events(session))[-1].text()


async def statuses(session: Session) -> list[str]:
    return [row.status async for row in Invocation.objects.filter(session=session).order_by("pk")]


async def test_the_question_is_a_form_whose_answer_goes_to_the_remote_agent(
    person: User, session: Session, browser: AsyncClient
) -> None:
    await say(person, session, "paint")
    call_id = await waiting_call(session)
    assert await statuses(session) == ["waiting"]
    shown = (await browser.get(page(session))).content.decode()
    assert f'data-call-id="{call_id}" data-name="{REMOTE_INPUT}"' in " ".join(shown.split())
    assert "<b>colour" not in shown
    await use_cases.answer_call(actors.person(person), session.pk, call_id, REMOTE_INPUT, {"result": "blue"})
    await worker().wait_until_idle()
    assert await last_text(session) == "blue it is"
    assert await statuses(session) == ["completed", "completed"]
    assert "You answered <bdi>blue</bdi>" in (await browser.get(page(session))).content.decode()


async def test_a_message_in_place_of_the_answer_ends_the_wait(person: User, session: Session) -> None:
    await say(person, session, "paint")
    await waiting_call(session)
    await say(person, session, "green")
    assert await last_text(session) == "green it is"
    assert await statuses(session) == ["completed", "completed"]
    assert not await AnswerRequest.objects.filter(session=session).aexists()


async def test_the_remote_conversation_is_kept_in_the_stored_event(person: User, session: Session) -> None:
    await say(person, session, "paint")
    row: Event = await Event.objects.filter(session=session).alatest("seq")
    metadata = row.body["customMetadata"]
    assert metadata["a2a:state"] == "TASK_STATE_INPUT_REQUIRED"
    assert metadata["a2a:task_id"] and metadata["a2a:context_id"]
