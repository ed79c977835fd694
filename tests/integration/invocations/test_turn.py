"""Invocations through the worker on PostgreSQL: events, state and titles that are stored."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from itertools import pairwise

import pytest
from django.contrib.auth.models import User
from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools import ToolContext
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.publishing import PARTIALS_IN_A_ROW
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Invocation, Session
from tests.fakes import ScriptedModel, StreamingModel, call
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")


def count(tool_context: ToolContext) -> int:
    """Count up."""
    for scope in ("", "user:", "app:"):
        tool_context.state[f"{scope}count"] = tool_context.state.get(f"{scope}count", 0) + 1
    return int(tool_context.state["count"])


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    scripted = ScriptedModel()
    app = App(name="counter", root_agent=LlmAgent(name="counter", model=scripted, tools=[count]))
    served(app)
    return scripted


async def test_events_are_stored_with_the_state_before_each_change(
    person: User, model: ScriptedModel
) -> None:
    model.turns = [call("count"), "one two three", call("count"), "four"]
    session = await use_cases.create_session(person, "counter")
    for number in (1, 2):
        await use_cases.send_message(actors.person(person), session.id, f"m{number}", "count!")
        await worker().wait_until_idle()
    stored = await Session.objects.aget(pk=session.id)
    events = [event async for event in Event.objects.filter(session=session).order_by("seq")]
    assert [event.seq for event in events] == list(range(1, 9))
    assert stored.state == {"count": 2}
    assert stored.title == "count!"
    assert events[2].before == {}
    assert events[6].before == {"count": 1, "user:count": 1, "app:count": 1}
    assert [event.kind for event in events[:4]] == ["message", "call", "response", "message"]
    assert events[3].text == "one two three"
    invocation = await Invocation.objects.filter(session=session).afirst()
    assert invocation is not None and invocation.status == "completed"
    assert len(model.requests[-1].contents) == 7


async def test_psycopg_reads_each_statement_of_a_turn_once(
    person: User, model: ScriptedModel, statements: list[str]
) -> None:
    model.turns = [call("count"), "one two three"]
    session = await use_cases.create_session(person, "counter")
    await use_cases.send_message(actors.person(person), session.id, "m1", "count!")
    await worker().wait_until_idle()
    assert len(statements) >= 6
    assert max(map(len, statements)) <= MAX_CACHED_STATEMENT_LENGTH


async def test_characters_that_postgresql_cannot_store_are_replaced_in_message_and_title(
    person: User, model: ScriptedModel
) -> None:
    model.turns = ["Hello."]
    session = await use_cases.create_session(person, "counter")
    await use_cases.send_message(actors.person(person), session.id, "m1", "hi\0")
    await worker().wait_until_idle()
    assert (await Session.objects.aget(pk=session.id)).title == "hi\ufffd"
    assert (await Event.objects.aget(session=session, seq=1)).text == "hi\ufffd"


@dataclass
class Rounds:
    """Rounds of the event loop, counted by a task that takes `seconds` of each."""

    seconds: float = 0.0
    count: int = 0

    async def pass_by(self) -> None:
        while True:
            self.count += 1
            time.sleep(self.seconds)  # noqa: ASYNC251 - a busy event loop
            await asyncio.sleep(0)


async def rounds_of_words(person: User, served: Served, words: int, rounds: Rounds) -> list[int]:
    """Let a model send words without a pause; return the round of the event loop of each."""
    at_words: list[int] = []

    class HastyModel(StreamingModel):
        model: str = "hasty"

        async def words(self) -> AsyncGenerator[str, None]:
            for _ in range(words):
                at_words.append(rounds.count)
                yield "word "

    app = App(name="hasty", root_agent=LlmAgent(name="hasty", model=HastyModel()))
    served(app)
    session = await use_cases.create_session(person, "hasty")
    other_task = asyncio.create_task(rounds.pass_by())
    await use_cases.send_message(actors.person(person), session.id, "m1", "go")
    await worker().wait_until_idle()
    other_task.cancel()
    assert len(at_words) == words
    return at_words


async def test_a_model_that_sends_much_at_once_lets_others_run(person: User, served: Served) -> None:
    at_words = await rounds_of_words(person, served, 10 * PARTIALS_IN_A_ROW, Rounds())
    assert max(Counter(at_words).values()) <= PARTIALS_IN_A_ROW


async def test_text_pauses_while_the_event_loop_is_late(person: User, served: Served) -> None:
    at_words = await rounds_of_words(person, served, 3 * PARTIALS_IN_A_ROW + 6, Rounds(seconds=0.05))
    assert all(after - before >= 2 for before, after in pairwise(at_words[-4:]))
