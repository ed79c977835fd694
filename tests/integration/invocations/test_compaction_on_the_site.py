"""Compaction on the site: beside the answers, without a lease, in processes that may die (contract R4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from runtime.agents import LlmAgent
from runtime.apps import App, EventsCompactionConfig
from runtime.apps.base_events_summarizer import BaseEventsSummarizer
from runtime.events import Event as RuntimeEvent
from runtime.events import EventActions, EventCompaction
from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.tools import FunctionTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import close_worker, worker
from sessions_app.models import AnswerRequest, Event, Invocation, Session
from sessions_app.store.history_cache import cache
from sessions_app.store.sql import event_log
from tests.fakes import ScriptedModel, call, text_content
from tests.integration.locks import blocked, held
from tests.served_agents import Served
from tests.unit.runtime.engine.histories import story

pytestmark = pytest.mark.usefixtures("loop_end")

ONE, TWO, THREE = ([f"message {number}", f"answer {number}"] for number in (1, 2, 3))


class Summarizer(BaseEventsSummarizer):
    """Summarizes events by their texts; waits while `gate` is clear."""

    def __init__(self) -> None:
        self.summarized: list[list[str]] = []
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def maybe_summarize_events(self, *, events: list[RuntimeEvent]) -> RuntimeEvent | None:
        summarized = [event.text() for event in events if event.text()]
        self.summarized.append(summarized)
        self.begun.set()
        await self.gate.wait()
        compaction = EventCompaction(
            start_timestamp=0.0, end_timestamp=0.0, compacted_content=text_content(", ".join(summarized))
        )
        return RuntimeEvent(author="user", actions=EventActions(compaction=compaction))


class Chat:
    """A session that is compacted after every second message."""

    def __init__(self, person: User, session: Session, model: ScriptedModel, summarizer: Summarizer) -> None:
        self.person = person
        self.session = session
        self.model = model
        self.summarizer = summarizer

    async def say(self, number: int, *turns: Any) -> None:
        """Send a message and wait for the answer, but not for the compaction."""
        self.model.turns = list(turns) or [f"answer {number}"]
        await use_cases.send_message(
            actors.person(self.person), self.session.pk, f"m{number}", f"message {number}"
        )
        async with asyncio.timeout(20):
            await worker().wait_until_idle()

    async def wait_for_compactions(self) -> None:
        await asyncio.gather(*worker()._background_tasks)

    async def texts(self) -> list[str]:
        """Return the text of each event, "summary" for summaries."""
        events = Event.objects.filter(session=self.session).order_by("seq")
        return [event.text or "summary" async for event in events]

    async def next_request(self) -> list[str]:
        """Send a message, and return the contents of its model request."""
        await self.say(9)
        return story(self.model.requests[-1].contents)


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@pytest.fixture
async def chat(person: User, served: Served) -> AsyncIterator[Chat]:
    model, summarizer = ScriptedModel(), Summarizer()
    config = EventsCompactionConfig(compaction_interval=2, overlap_size=0, summarizer=summarizer)
    agent = LlmAgent(name="words", model=model, tools=[FunctionTool(pay, require_confirmation=True)])
    app = App(name="words", root_agent=agent, events_compaction_config=config)
    served(app)
    yield Chat(person, await use_cases.create_session(person, "words"), model, summarizer)
    summarizer.gate.set()


@pytest.mark.parametrize("forgets", [False, True], ids=["warm", "cold"])
async def test_a_question_ignored_for_long_is_answered_after_its_summary(chat: Chat, forgets: bool) -> None:
    """Contract R4, T7: its invocation waits, also after another question, and the answer runs the call."""
    await chat.say(1, call("pay", amount=3))
    first = await AnswerRequest.objects.aget()
    for number in range(2, 10):
        await chat.say(number)
        await chat.wait_for_compactions()
    summaries = [text for text in await chat.texts() if text == "summary"]
    assert len(summaries) >= 2
    await chat.say(10, call("pay", amount=5))
    second = await AnswerRequest.objects.exclude(pk=first.pk).aget()
    assert await AnswerRequest.objects.acount() == 2
    for request in (second, first):
        if forgets:
            cache.forget((chat.session.app_name, str(chat.session.user_id), chat.session.key))
        chat.model.turns = ["Paid."]
        await use_cases.answer_call(
            actors.person(chat.person),
            chat.session.pk,
            request.call_id,
            REQUEST_CONFIRMATION,
            {"confirmed": True},
        )
        await worker().wait_until_idle()
        contents = story(chat.model.requests[-1].contents)
        amount = 5 if request is second else 3
        assert contents[-1].endswith(f"=paid {amount}")
    statuses = Invocation.objects.values_list("status", flat=True)
    assert {status async for status in statuses} == {"completed"}
    assert await AnswerRequest.objects.acount() == 0


async def test_no_answer_waits_for_a_compaction(chat: Chat) -> None:
    chat.summarizer.gate.clear()
    await chat.say(1)
    await chat.say(2)
    await chat.summarizer.begun.wait()
    await chat.say(3)
    assert await chat.texts() == [*ONE, *TWO, *THREE]
    chat.summarizer.gate.set()
    await chat.wait_for_compactions()
    assert await chat.texts() == [*ONE, *TWO, *THREE, "summary"]
    assert chat.summarizer.summarized == [[*ONE, *TWO]]
    assert await chat.next_request() == [
        "model: message 1, answer 1, message 2, answer 2",
        "user: message 3",
        "model: answer 3",
        "user: message 9",
    ]


async def test_a_summary_between_a_message_and_its_first_load_is_read_with_the_message(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat.summarizer.gate.clear()
    await chat.say(1)
    await chat.say(2)
    await chat.summarizer.begun.wait()
    load = event_log.load

    async def load_after_the_compaction(*args: Any, **options: Any) -> event_log.Loaded | None:
        monkeypatch.setattr(event_log, "load", load)
        chat.summarizer.gate.set()
        await chat.wait_for_compactions()
        return await load(*args, **options)

    cache.forget(("words", str(chat.person.pk), chat.session.key))
    monkeypatch.setattr(event_log, "load", load_after_the_compaction)
    await chat.say(3)
    assert await chat.texts() == [*ONE, *TWO, "summary", *THREE]
    assert story(chat.model.requests[-1].contents) == [
        "model: message 1, answer 1, message 2, answer 2",
        "user: message 3",
    ]


async def test_a_compaction_whose_process_shuts_down_is_left_to_the_next_invocation(chat: Chat) -> None:
    chat.summarizer.gate.clear()
    await chat.say(1)
    await chat.say(2)
    await chat.summarizer.begun.wait()
    await close_worker()
    chat.summarizer.gate.set()
    assert await chat.texts() == [*ONE, *TWO]
    await chat.say(3)
    await chat.wait_for_compactions()
    assert await chat.texts() == [*ONE, *TWO, *THREE, "summary"]
    assert chat.summarizer.summarized == [[*ONE, *TWO], [*ONE, *TWO, *THREE]]
    everything = "model: message 1, answer 1, message 2, answer 2, message 3, answer 3"
    assert await chat.next_request() == [everything, "user: message 9"]


async def test_a_summary_that_was_not_stored_is_made_again(chat: Chat) -> None:
    """The process shuts down between the summarizer and the append."""
    chat.summarizer.gate.clear()
    await chat.say(1)
    await chat.say(2)
    await chat.summarizer.begun.wait()
    async with held("SELECT FROM sessions_app_session FOR UPDATE"):
        chat.summarizer.gate.set()
        await blocked(1)
        await close_worker()
    assert await chat.texts() == [*ONE, *TWO]
    await chat.say(3)
    await chat.wait_for_compactions()
    assert await chat.texts() == [*ONE, *TWO, *THREE, "summary"]
    everything = "model: message 1, answer 1, message 2, answer 2, message 3, answer 3"
    assert await chat.next_request() == [everything, "user: message 9"]
