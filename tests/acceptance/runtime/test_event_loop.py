"""Contract L1 to L4, L9 to L11, E7, E8: an invocation is a stream of events, each committed before it is yielded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

import pytest

from runtime import types
from runtime.agents import BaseAgent, InvocationContext, LlmAgent
from runtime.apps import App
from runtime.errors import InvalidMessageError, LlmCallsLimitExceededError, ModelError, SessionNotFoundError
from runtime.events import Event, EventActions
from runtime.models import LlmResponse
from runtime.run_config import RunConfig
from runtime.runners import InMemoryRunner, Runner
from runtime.sessions import InMemorySessionService
from tests.acceptance.runtime.event_log import (
    STREAMING,
    RecordingSessionService,
    Steps,
    create_session,
    load_session,
    run,
    step,
)
from tests.fakes import ScriptedModel, call, parts_of, say, text_content
from tests.unit.runtime.conversation import Conversation, outline


async def test_the_error_for_an_unknown_session_names_it() -> None:
    """Contract L1."""
    runner = InMemoryRunner(LlmAgent(name="clerk", model=ScriptedModel()))
    with pytest.raises(SessionNotFoundError, match="'nowhere'") as error:
        await anext(runner.run_async(user_id="ada", session_id="nowhere", new_message=say("hi")))
    assert isinstance(error.value, ValueError)


async def test_the_persons_message_is_the_first_event_with_its_state_delta() -> None:
    """Contract L2, E8."""
    runner = InMemoryRunner(LlmAgent(name="clerk", model=ScriptedModel(turns=["hello"])))
    ids = await create_session(runner)
    run = runner.run_async(**ids, new_message=say("hi"), state_delta={"n": 1, "user:m": 2})
    events = [event async for event in run]
    assert outline(events) == ["clerk: hello"]
    session = await load_session(runner, ids)
    message, answer = session.events
    assert (message.author, message.content, message.actions.state_delta) == (
        "user",
        say("hi"),
        {"n": 1, "user:m": 2},
    )
    assert session.state == {"n": 1, "user:m": 2}
    assert message.invocation_id == answer.invocation_id == events[0].invocation_id
    assert message.invocation_id.startswith("e-")


async def test_every_invocation_has_its_own_id() -> None:
    """Contract L2."""
    conversation = Conversation(LlmAgent(name="clerk", model=ScriptedModel(turns=["a", "b"])))
    ids = {(await conversation.say("x"))[0].invocation_id for _ in range(2)}
    assert len(ids) == 2


async def test_an_event_is_committed_then_yielded_then_the_agent_continues() -> None:
    """Contract L3."""
    log: list[str] = []
    agent = Steps(name="steps", log=log, delta={"k": 1})
    runner = Runner(app_name="shop", agent=agent, session_service=RecordingSessionService(log))
    ids = await create_session(runner)
    async with aclosing(runner.run_async(**ids, new_message=say("go"))) as events:
        async for event in events:
            log.append(f"seen {event.text()}")
            assert (await load_session(runner, ids)).events[-1].text() == event.text()
    assert log == [
        "commit go",
        "commit one",
        "seen one",
        "after one: True ['k_one']",
        "commit two",
        "seen two",
        "after two: True ['k_one', 'k_two']",
        "closed",
    ]


async def test_partial_events_are_yielded_but_neither_stored_nor_applied() -> None:
    """Contract L4: only the whole event that follows is committed."""

    class Fragments(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            actions = EventActions(state_delta={"partial": 1})
            yield Event(author=self.name, content=text_content("he"), partial=True, actions=actions)
            assert "partial" not in ctx.session.state
            yield Event(author=self.name, content=text_content("hello"))

    conversation = Conversation(Fragments(name="clerk"))
    assert outline(await conversation.say("x")) == ["clerk: he", "clerk: hello"]
    session = await conversation.session()
    assert ([event.text() for event in session.events], session.state) == (["x", "hello"], {})


async def test_a_streamed_answer_is_partial_events_and_one_whole_event() -> None:
    """Contract L4, A8: partial events have the id of the whole event."""
    conversation = Conversation(LlmAgent(name="clerk", model=ScriptedModel(turns=["one two", "three"])))
    first, second = [await conversation.say("x", STREAMING) for _ in range(2)]
    assert [(event.text(), event.partial) for event in first] == [
        ("one ", True),
        ("two", True),
        ("one two", None),
    ]
    assert len({event.id for event in first}) == 1
    assert first[0].id != second[0].id
    assert [event.text() for event in (await conversation.session()).events] == ["x", "one two", "x", "three"]


async def test_without_streaming_there_are_no_partial_events() -> None:
    """Contract L10."""
    conversation = Conversation(LlmAgent(name="clerk", model=ScriptedModel(turns=["one two"])))
    assert [event.partial for event in await conversation.say("x")] == [None]


async def test_a_runner_takes_name_and_agent_from_the_app() -> None:
    """Contract L9."""
    app = App(name="tea-shop", root_agent=LlmAgent(name="clerk", model=ScriptedModel(turns=["hello"])))
    runner = InMemoryRunner(app=app)
    assert (runner.app_name, runner.agent) == ("tea-shop", app.root_agent)
    ids = await create_session(runner)
    assert outline([event async for event in runner.run_async(**ids, new_message=say("hi"))]) == [
        "clerk: hello"
    ]


async def test_plugins_may_be_none() -> None:
    """Contract L9: None is google-adk's default."""
    agent = LlmAgent(name="clerk", model=ScriptedModel(rule=lambda request: "hello"))
    service = InMemorySessionService()
    for runner in (
        InMemoryRunner(agent, app_name="shop", plugins=None),
        InMemoryRunner(app=App(name="shop", root_agent=agent), plugins=None),
        Runner(app_name="shop", agent=agent, session_service=service, plugins=None),
    ):
        assert outline(await run(runner, await create_session(runner), "hi")) == ["clerk: hello"]


def test_a_runner_needs_an_app_or_an_agent_with_a_name() -> None:
    """Contract L9."""
    agent = LlmAgent(name="clerk", model=ScriptedModel())
    with pytest.raises(ValueError, match="app_name"):
        Runner(session_service=InMemorySessionService(), agent=agent)
    with pytest.raises(ValueError, match="not both"):
        Runner(session_service=InMemorySessionService(), app=App(name="a", root_agent=agent), agent=agent)


async def test_an_invocation_that_exceeds_the_limit_of_model_calls_fails() -> None:
    """Contract L10."""
    model = ScriptedModel(rule=lambda request: call("step"))
    conversation = Conversation(LlmAgent(name="clerk", model=model, tools=[step]))
    with pytest.raises(LlmCallsLimitExceededError, match="2"):
        await conversation.say("go", RunConfig(max_llm_calls=2))
    assert len(model.requests) == 2
    model.rule = lambda request: "done"
    assert outline(await conversation.say("again", RunConfig(max_llm_calls=1))) == ["clerk: done"]


async def test_every_event_of_the_invocation_has_the_custom_metadata() -> None:
    """Contract L10."""
    model = ScriptedModel(turns=[call("step"), "done"])
    conversation = Conversation(LlmAgent(name="clerk", model=model, tools=[step]))
    await conversation.say("go", RunConfig(custom_metadata={"trace": "t1"}))
    events = (await conversation.session()).events
    assert [event.custom_metadata for event in events] == [{"trace": "t1"}] * 4


async def test_a_sync_tool_does_not_block_the_event_loop_and_has_the_context_variables() -> None:
    """Contract L11."""
    trace: ContextVar[str] = ContextVar("trace", default="")
    entered, release = threading.Event(), threading.Event()
    seen = []

    def blocking() -> str:
        """Wait."""
        entered.set()
        assert release.wait(timeout=10)
        seen.append((trace.get(), threading.get_ident()))
        return "ok"

    conversation = Conversation(
        LlmAgent(name="clerk", model=ScriptedModel(turns=[call("blocking"), "done"]), tools=[blocking])
    )
    trace.set("t1")
    task = asyncio.create_task(conversation.say("go"))
    while not entered.is_set():
        await asyncio.sleep(0)
    release.set()
    assert outline(await task)[-1] == "clerk: done"
    assert seen[0][0] == "t1"
    assert seen[0][1] != threading.get_ident()


@pytest.mark.parametrize("is_async", [False, True])
async def test_callbacks_may_be_sync_or_async(is_async: bool) -> None:
    """Contract L11, C1."""

    def answer(callback_context: Any) -> types.Content:
        return text_content("closed")

    async def answer_later(callback_context: Any) -> types.Content:
        await asyncio.sleep(0)
        return text_content("closed")

    agent = LlmAgent(
        name="clerk", model=ScriptedModel(), before_agent_callback=answer_later if is_async else answer
    )
    assert outline(await Conversation(agent).say("x")) == ["clerk: closed"]


@pytest.mark.parametrize(
    "turn",
    [
        ModelError("RESOURCE_EXHAUSTED", "Too many requests."),
        LlmResponse(error_code="RESOURCE_EXHAUSTED", error_message="Too many requests."),
    ],
)
async def test_a_model_error_is_an_event_of_the_agent_and_ends_its_turn(turn: Any) -> None:
    """Contract E7."""
    model = ScriptedModel(turns=[turn, "better now"])
    conversation = Conversation(LlmAgent(name="clerk", model=model, output_key="answer"))
    [event] = await conversation.say("x")
    assert (event.author, event.error_code, event.error_message) == (
        "clerk",
        "RESOURCE_EXHAUSTED",
        "Too many requests.",
    )
    assert (await conversation.session()).state == {}
    assert outline(await conversation.say("again")) == ["clerk: better now"]
    assert [parts_of(content)[0].text for content in model.requests[1].contents] == ["x", "again"]


async def test_a_message_that_is_no_content_is_refused_with_the_remedy() -> None:
    """Contract L2."""
    runner = InMemoryRunner(LlmAgent(name="clerk", model=ScriptedModel()))
    ids = await create_session(runner)
    message: Any = "hi"
    with pytest.raises(InvalidMessageError, match=r"new_message is a str\..*types\.UserContent"):
        await anext(runner.run_async(**ids, new_message=message))
    assert (await load_session(runner, ids)).events == []
