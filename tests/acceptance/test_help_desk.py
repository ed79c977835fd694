"""Whole sessions with the demo help desk on the in-memory runner; the assertions are about the event stream.

Contract A6 (transfer), F2 (artifacts), L4 (partial events), L8 (routing), S4 (state scopes), T5 (long-running calls).
"""

import os
import re
import subprocess
import sys
from typing import Any

import pytest

from adk_site import agents
from adk_site.demo.model import DemoModel
from runtime import types
from runtime.events import Event
from runtime.run_config import RunConfig, StreamingMode
from runtime.runners import InMemoryRunner
from runtime.sessions import Session
from tests.fakes import ScriptedModel, call, say

APP, ADA = "help_desk", "1"


class Conversation:
    """A session of a person with the help desk."""

    def __init__(self, runner: InMemoryRunner, session: Session) -> None:
        self.runner = runner
        self.session = session
        self.user_id = session.user_id

    async def send(
        self, message: str | types.Content, mode: StreamingMode = StreamingMode.NONE
    ) -> list[Event]:
        content = say(message) if isinstance(message, str) else message
        run = self.runner.run_async(
            user_id=self.user_id,
            session_id=self.session.id,
            new_message=content,
            run_config=RunConfig(streaming_mode=mode),
        )
        return [event async for event in run]

    async def confirm(self, asked: list[Event], confirmed: bool) -> list[Event]:
        """Answer the confirmation request in the last of these events."""
        question = asked[-1].get_function_calls()[0]
        answer = types.FunctionResponse(
            id=question.id, name=question.name, response={"confirmed": confirmed, "payload": None}
        )
        return await self.send(types.Content(role="user", parts=[types.Part(function_response=answer)]))

    async def state(self) -> dict[str, Any]:
        service = self.runner.session_service
        stored = await service.get_session(app_name=APP, user_id=self.user_id, session_id=self.session.id)
        assert stored is not None
        return stored.state

    async def file(self, name: str) -> str:
        service = self.runner.artifact_service
        assert service is not None
        part = await service.load_artifact(
            app_name=APP, user_id=self.user_id, session_id=self.session.id, filename=name
        )
        assert part is not None and part.inline_data is not None and part.inline_data.data is not None
        return part.inline_data.data.decode()


@pytest.fixture
def runner() -> InMemoryRunner:
    return InMemoryRunner(agents.help_desk.clone(update={"model": DemoModel(delay=0)}), app_name=APP)


async def open_session(runner: InMemoryRunner, user_id: str = ADA) -> Conversation:
    session = await runner.session_service.create_session(app_name=APP, user_id=user_id)
    return Conversation(runner, session)


@pytest.fixture
async def desk(runner: InMemoryRunner) -> Conversation:
    return await open_session(runner)


def story(events: list[Event]) -> list[str]:
    """Return the events as `author: text`, `author: name(args)` and `author: name -> done | error`."""
    return [f"{event.author}: {_describe(part)}" for event in events for part in _parts(event)]


def _parts(event: Event) -> list[types.Part]:
    return (event.content.parts or []) if event.content else []


def _describe(part: types.Part) -> str:
    if part.function_call:
        args = ", ".join(f"{name}={value!r}" for name, value in (part.function_call.args or {}).items())
        return f"{part.function_call.name}({args})"
    if part.function_response:
        failed = "error" in (part.function_response.response or {})
        return f"{part.function_response.name} -> {'error' if failed else 'done'}"
    return part.text or ""


def delta(events: list[Event]) -> dict[str, Any]:
    """Return all state changes of the events."""
    return {key: value for event in events for key, value in event.actions.state_delta.items()}


async def test_small_talk_is_one_event_of_the_root_agent(desk: Conversation) -> None:
    for words in ("hello", "what can you do?", "thanks"):
        events = await desk.send(words)
        assert [event.author for event in events] == ["help_desk"]
        assert events[0].is_final_response()


async def test_a_name_is_remembered_for_all_sessions_of_the_person(
    runner: InMemoryRunner, desk: Conversation
) -> None:
    events = await desk.send("my name is Ada")
    assert story(events) == [
        "help_desk: remember_name(name='Ada')",
        "help_desk: remember_name -> done",
        "help_desk: From now on this help desk calls you Ada.",
    ]
    assert delta(events) == {"user:name": "Ada"}
    later, stranger = await open_session(runner), await open_session(runner, user_id="2")
    assert "- Name: Ada" in story(await later.send("who am I?"))[-1]
    assert "- Name: not known" in story(await stranger.send("who am I?"))[-1]


async def test_a_ticket_changes_session_state_and_app_state_and_saves_a_file(
    runner: InMemoryRunner, desk: Conversation
) -> None:
    events = await desk.send("open a ticket: my printer is on fire")
    assert story(events)[0] == "help_desk: open_ticket(problem='my printer is on fire')"
    state = await desk.state()
    assert re.fullmatch(r"T-[0-9a-f]{6}: my printer is on fire", state["ticket"])
    (filename,) = events[1].actions.artifact_delta
    assert events[1].actions.artifact_delta == {filename: 0}
    assert "my printer is on fire" in await desk.file(filename)
    other = await open_session(runner, user_id="2")
    assert await other.state() == {"app:tickets": 1}


async def test_a_second_ticket_waits_until_the_first_is_closed(desk: Conversation) -> None:
    await desk.send("open a ticket: no light")
    assert story(await desk.send("open a ticket: no heat"))[1] == "help_desk: open_ticket -> error"
    assert delta(await desk.send("close the ticket")) == {"ticket": None}
    await desk.send("open a ticket: no heat")
    assert (await desk.state())["app:tickets"] == 2


async def test_an_order_question_is_transferred_to_the_specialist_who_keeps_the_session(
    desk: Conversation,
) -> None:
    assert story(await desk.send("what's the status of order 1042?"))[:-1] == [
        "help_desk: transfer_to_agent(agent_name='orders')",
        "help_desk: transfer_to_agent -> done",
        "orders: order_status(order_number=1042)",
        "orders: order_status -> done",
    ]
    asked = await desk.send("refund it")
    assert story(asked)[0] == "orders: refund_order()"
    assert "user:refunds" not in await desk.state()
    assert story(await desk.confirm(asked, True)) == [
        "orders: refund_order -> done",
        "orders: Order 1042 is refunded: you get 258.48 EUR back.",
    ]
    assert (await desk.state())["user:refunds"] == {"1042": 25848}


async def test_a_rejected_refund_is_not_executed(desk: Conversation) -> None:
    asked = await desk.send("refund order 1042")
    await desk.confirm(asked, False)
    assert "user:refunds" not in await desk.state()


async def test_an_order_is_refunded_once_across_sessions(runner: InMemoryRunner, desk: Conversation) -> None:
    await desk.confirm(await desk.send("refund order 1042"), True)
    later = await open_session(runner)
    again = await later.send("refund order 1042")
    assert "is refunded already" in story(await later.confirm(again, True))[-1]
    assert "- Status: refunded" in story(await later.send("the status of order 1042"))[-1]


async def test_a_missing_number_is_asked_for_and_then_looked_up(desk: Conversation) -> None:
    assert story(await desk.send("what's the status of my order?"))[-1].startswith("help_desk: Which order?")
    assert story(await desk.send("1042"))[2] == "orders: order_status(order_number=1042)"


async def test_a_report_asked_for_after_an_order_refunds_nothing(desk: Conversation) -> None:
    await desk.send("Where is order 1001?")
    lines = story(await desk.send("Write a report on last year's sales"))
    assert lines[0] == "orders: transfer_to_agent(agent_name='help_desk')"
    assert lines[2] == "help_desk: write_report(topic='sales')"


async def test_a_report_without_a_topic_lets_the_user_choose(desk: Conversation) -> None:
    asked = await desk.send("Write a report")
    call_id = asked[-1].get_function_calls()[0].id
    pressed = types.FunctionResponse(
        id=call_id, name="get_user_choice", response={"result": "returns by product"}
    )
    answer = await desk.send(types.Content(role="user", parts=[types.Part(function_response=pressed)]))
    assert story(answer)[0] == "help_desk: write_report(topic='returns', group_by='product')"


async def test_two_orders_are_looked_up_at_once(desk: Conversation) -> None:
    lines = story(await desk.send("Compare orders 1001 and 1042"))
    assert lines[2:-1] == [
        "orders: order_status(order_number=1001)",
        "orders: order_status(order_number=1042)",
        "orders: order_status -> done",
        "orders: order_status -> done",
    ]


async def test_an_invoice_is_saved_as_a_file(desk: Conversation) -> None:
    await desk.send("write the invoice of order 1042")
    assert "1042,2025-01-01,Keyboard,3,86.16,258.48" in await desk.file("invoice-1042.csv")


async def test_specialists_transfer_to_each_other_and_back(desk: Conversation) -> None:
    events = await desk.send("where is order 1042?")
    assert [event.author for event in events] == ["help_desk", "help_desk", *["orders"] * 3]
    assert story(await desk.send("my wifi is slow"))[2] == "technical: find_guide(problem='my wifi is slow')"
    assert story(await desk.send("my name is Ada"))[2] == "help_desk: remember_name(name='Ada')"


async def test_a_report_is_started_and_its_result_reported_later(desk: Conversation) -> None:
    events = await desk.send("write me a report on sales by region")
    assert story(events)[:2] == [
        "help_desk: write_report(topic='sales', group_by='region')",
        "help_desk: write_report -> done",
    ]
    (call_id,) = events[0].long_running_tool_ids or [None]
    assert "**Write report** has begun" in story(events)[-1]
    await desk.send("thanks")
    result = types.FunctionResponse(
        id=call_id,
        name="write_report",
        response={"status": "succeeded", "summary": "North leads.", "files": ["a.png"]},
    )
    answer = await desk.send(types.Content(role="user", parts=[types.Part(function_response=result)]))
    assert story(answer) == ["help_desk: North leads.\n\n- Files: \n  1. a.png"]


async def test_an_answer_is_streamed_word_by_word_before_its_event(desk: Conversation) -> None:
    *partials, final = await desk.send("hello", StreamingMode.SSE)
    assert len(partials) > 5 and all(event.partial for event in partials)
    assert "".join(_describe(_parts(event)[0]) for event in partials) == _describe(_parts(final)[0])


async def test_lookups_are_limited_within_one_invocation() -> None:
    guesses: list[types.Part] = [call("order_status", order_number=number) for number in range(1001, 1007)]
    model = ScriptedModel(turns=[guesses, "I am lost.", call("order_status", order_number=1042), "Found."])
    conversation = await open_session(
        InMemoryRunner(agents.orders.clone(update={"model": model}), app_name=APP)
    )
    lines = story(await conversation.send("find my order"))
    assert lines.count("orders: order_status -> done") == agents.MAX_LOOKUPS
    assert lines.count("orders: order_status -> error") == 1
    assert "orders: order_status -> done" in story(await conversation.send("1042"))
    assert not [key for key in await conversation.state() if key.startswith("temp:")]


def run_python(script: str) -> int:
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "adk_site.settings"}
    return subprocess.run([sys.executable, "-c", script], env=environ, check=False).returncode


def test_the_demo_model_needs_no_settings() -> None:
    script = (
        "import adk_site.demo.model, sys; from django.conf import settings; sys.exit(settings.configured)"
    )
    assert run_python(script) == 0
