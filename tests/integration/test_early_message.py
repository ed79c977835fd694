"""Messages that are committed in the statement that begins their invocation."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.plugins import BasePlugin
from sessions_app import use_cases
from sessions_app.agent_apps import registry
from sessions_app.history.integrity import flaw_in
from sessions_app.invocations.message_event import early_event
from sessions_app.invocations.worker import worker
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, Session
from sessions_app.process.threads import in_thread
from sessions_app.rendering.session_view import SITE_READER
from sessions_app.store import DjangoSessionService
from sessions_app.store.history_cache import cache
from sessions_app.store.sql import invocation_queue, leases
from tests.fakes import ScriptedModel, call

pytestmark = pytest.mark.usefixtures("loop_end")


class Shouting(BasePlugin):
    """Writes the messages of people in capital letters."""

    async def on_user_message_callback(
        self, *, user_message: types.Content, **_: Any
    ) -> types.Content | None:
        texts = [part.text or "" for part in user_message.parts or []]
        return types.Content(role="user", parts=[types.Part(text=text.upper()) for text in texts])


def look_up(word: str) -> str:
    """Look a word up."""
    return word


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    scripted = ScriptedModel()
    agent = LlmAgent(name="words", model=scripted, tools=[look_up])
    loud = LlmAgent(name="loud", model=scripted)
    apps = {
        "words": App(name="words", root_agent=agent),
        "loud": App(name="loud", root_agent=loud, plugins=[Shouting(name="shouting")]),
    }
    monkeypatch.setattr(registry, "apps", lambda: apps)
    return scripted


async def log_of(session: Session) -> list[tuple[int, str, str | None]]:
    """Return number, author and text of the events in the log."""
    rows = Event.objects.filter(session=session).order_by("seq")
    return [(row.seq, row.body["author"], row.text or None) async for row in rows]


async def say(person: User, session: Session, number: int, text: str) -> None:
    await use_cases.send_message(person, session.pk, f"m{number}", text)
    await worker().wait_until_idle()


async def test_the_message_is_in_the_log_when_it_is_accepted(person: User, model: ScriptedModel) -> None:
    may_answer = asyncio.Event()
    model.turns = [may_answer]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(person, session.pk, "m1", "what is an ant?")
    assert await log_of(session) == [(1, "user", "what is an ant?")]
    may_answer.set()
    await worker().wait_until_idle()
    assert await log_of(session) == [(1, "user", "what is an ant?"), (2, "words", "released")]


async def test_a_turn_with_a_call_has_five_statements(
    person: User, model: ScriptedModel, statements: list[str]
) -> None:
    model.turns = ["Hello.", call("look_up", word="ant"), "An insect."]
    session = await use_cases.create_session(person, "words")
    await say(person, session, 1, "hello")
    statements.clear()
    await say(person, session, 2, "what is an ant?")
    assert len(await log_of(session)) == 6
    assert len(statements) == 5  # message with claim, call, response, answer, end


async def test_the_model_reads_the_message_once_with_and_without_a_cached_history(
    person: User, model: ScriptedModel
) -> None:
    model.turns = ["One.", "Two.", "Three."]
    session = await use_cases.create_session(person, "words")
    await say(person, session, 1, "first")
    await say(person, session, 2, "second")
    cache.forget(("words", str(person.pk), session.key))
    await say(person, session, 3, "third")
    said = [[(content.parts or [])[0].text for content in request.contents] for request in model.requests]
    assert said[1] == ["first", "One.", "second"]
    assert said[2] == ["first", "One.", "second", "Two.", "third"]


async def test_another_reader_that_caches_the_message_first_does_no_harm(
    person: User, model: ScriptedModel
) -> None:
    may_answer = asyncio.Event()
    model.turns = ["One.", may_answer]
    session = await use_cases.create_session(person, "words")
    await say(person, session, 1, "first")
    await use_cases.send_message(person, session.pk, "m2", "second")
    read = await DjangoSessionService().get_session(
        app_name="words", user_id=str(person.pk), session_id=session.key
    )
    assert read is not None and [event.text() for event in read.events] == ["first", "One.", "second"]
    may_answer.set()
    await worker().wait_until_idle()
    assert [text for _, _, text in await log_of(session)] == ["first", "One.", "second", "released"]


async def test_open_tabs_get_each_event_once(person: User, model: ScriptedModel) -> None:
    model.turns = ["A word."]
    session = await use_cases.create_session(person, "words")
    watcher = Mock(reader=SITE_READER)
    live().hub.watch(session.pk, watcher)
    await say(person, session, 1, "hello")
    assert [shown.args[0] for shown in watcher.on_event.call_args_list] == [1, 2]


async def test_the_log_has_no_flaw(person: User, model: ScriptedModel) -> None:
    model.turns = ["One.", "Two."]
    session = await use_cases.create_session(person, "words")
    await say(person, session, 1, "first \0 \ud800")
    await say(person, session, 2, "second")
    assert await in_thread(flaw_in, session.pk) is None
    await session.arefresh_from_db()
    assert session.last_seq == 4


async def test_a_process_that_dies_before_the_run_begins_leaves_the_message_in_the_log_once(
    person: User, model: ScriptedModel
) -> None:
    model.turns = ["One."]
    session = await use_cases.create_session(person, "words")
    message = {"role": "user", "parts": [{"text": "first"}]}
    queued = await invocation_queue.enqueue(
        session.pk,
        user_id=person.pk,
        invocation_id="e-1",
        client_id="m1",
        message=message,
        event=early_event("e-1", message, None),
        lease=invocation_queue.Lease("a process that dies", seconds=0),
    )
    assert queued is not None and queued.claim is not None
    assert await leases.take_back_expired() == [session.pk]
    await worker().run_queue(session.pk)
    said = [(author, text) for _, author, text in await log_of(session) if text]
    assert said == [("user", "first"), ("words", "One.")]


async def test_a_plugin_still_replaces_messages(person: User, model: ScriptedModel) -> None:
    model.turns = ["Yes."]
    session = await use_cases.create_session(person, "loud")
    await say(person, session, 1, "hello")
    assert await log_of(session) == [(1, "user", "HELLO"), (2, "loud", "Yes.")]


async def test_an_app_whose_plugins_share_a_name_does_not_stop_the_messages_of_other_apps(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.turns = ["One."]
    session = await use_cases.create_session(person, "words")
    plugins: list[BasePlugin] = [Shouting(name="shouting"), Shouting(name="shouting")]
    broken = App(name="broken", root_agent=LlmAgent(name="broken", model=model), plugins=plugins)
    apps = {**registry.apps(), "broken": broken}
    monkeypatch.setattr(registry, "apps", lambda: apps)
    await say(person, session, 1, "first")
    assert [text for _, _, text in await log_of(session)] == ["first", "One."]


async def test_a_message_in_the_queue_is_in_the_log_when_its_turn_comes(
    person: User, model: ScriptedModel
) -> None:
    may_go_on = asyncio.Event()
    model.turns = [may_go_on, "Two."]
    session = await use_cases.create_session(person, "words")
    for number, text in enumerate(("first", "second"), start=1):
        await use_cases.send_message(person, session.pk, f"m{number}", text)
    assert await log_of(session) == [(1, "user", "first")]
    may_go_on.set()
    await worker().wait_until_idle()
    assert [text for _, _, text in await log_of(session)] == ["first", "released", "second", "Two."]


async def test_a_repeated_message_is_stored_once(person: User, model: ScriptedModel) -> None:
    model.turns = ["One."]
    session = await use_cases.create_session(person, "words")
    for _ in range(3):
        await use_cases.send_message(person, session.pk, "m1", "first")
    await worker().wait_until_idle()
    await use_cases.send_message(person, session.pk, "m1", "first")
    assert [text for _, _, text in await log_of(session)] == ["first", "One."]


async def test_a_message_whose_run_fails_at_once_is_followed_by_the_error(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(person, session.pk, "m1", "hello")
    monkeypatch.setattr(registry, "apps", dict)  # The app is gone before its run begins.
    await worker().wait_until_idle()
    assert [(author, text) for _, author, text in await log_of(session)] == [
        ("user", "hello"),
        ("words", None),
    ]
    assert (await Invocation.objects.aget(session=session)).status == "failed"


async def test_state_that_comes_with_a_message_is_committed_with_its_event(
    person: User, model: ScriptedModel
) -> None:
    model.turns = ["Yes."]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(person, session.pk, "m1", "hello", state_delta={"mood": "good"})
    await worker().wait_until_idle()
    first = await Event.objects.filter(session=session).order_by("seq").afirst()
    assert first is not None and first.body["actions"]["stateDelta"] == {"mood": "good"}
    assert len(await log_of(session)) == 2


async def test_early_and_later_events_have_the_same_fields(person: User, model: ScriptedModel) -> None:
    model.turns = ["One.", "Two."]
    session = await use_cases.create_session(person, "words")
    for number in (1, 2):  # The second one waits in the queue.
        await use_cases.send_message(person, session.pk, f"m{number}", "hello")
    await worker().wait_until_idle()
    early, _, late, _ = [row.body async for row in Event.objects.filter(session=session).order_by("seq")]
    differing = {"id", "timestamp", "invocationId"}
    assert set(early) == set(late)
    assert {key for key in early if early[key] != late[key]} == differing
