"""Contract L1 to L7, L9 to L11, E7, E8: one invocation as a stream of events, each committed before it is seen."""

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
from runtime.errors import LlmCallsLimitExceededError, ModelError, SessionNotFoundError
from runtime.events import Event, EventActions
from runtime.models import LlmRequest, LlmResponse
from runtime.run_config import RunConfig, StreamingMode
from runtime.runners import InMemoryRunner, Runner
from runtime.sessions import InMemorySessionService, Session
from tests.fakes import ScriptedModel, call, requests_of, say, text_content
from tests.unit.runtime.conversation import Conversation, outline

STREAMING = RunConfig(streaming_mode=StreamingMode.SSE)


class Watched(InMemorySessionService):
    """A store that tells its commits, and can refuse one."""

    def __init__(self, told: list[str]) -> None:
        super().__init__()
        self.told = told
        self.refused = ""

    async def _store(self, session: Session, event: Event) -> None:
        if self.refused and event.text() == self.refused:
            raise ConnectionError("the store is away")
        await super()._store(session, event)
        self.told.append(f"commit {event.text()}")


class Steps(BaseAgent):
    """Yields texts and notes what it sees between them."""

    told: Any  # the test's list: pydantic would copy one that is declared as such
    delta: dict[str, Any] = {}

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        try:
            for text in ("one", "two"):
                actions = EventActions(
                    state_delta={f"{key}_{text}": value for key, value in self.delta.items()}
                )
                event = Event(author=self.name, content=text_content(text), actions=actions)
                yield event
                is_last = ctx.session.events[-1] is event or ctx.session.events[-1].id == event.id
                self.told.append(f"after {text}: {is_last} {sorted(ctx.session.state)}")
        finally:
            self.told.append("closed")


class Dripping(ScriptedModel):
    """Streams fragments for as long as someone listens, and notes its end."""

    ended: Any  # the test's list: pydantic would copy one that is declared as such

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        try:
            while True:
                yield LlmResponse(content=text_content("drop "), partial=True)
                await asyncio.sleep(0)
        finally:
            self.ended.append("model closed")


def step() -> str:
    """Take a step."""
    return "taken"


async def opened(runner: Runner) -> dict[str, str]:
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="ada")
    return {"user_id": "ada", "session_id": session.id}


async def stored(runner: Runner, ids: dict[str, str]) -> Session:
    found = await runner.session_service.get_session(app_name=runner.app_name, **ids)
    assert found is not None
    return found


async def _run(runner: Runner, ids: dict[str, str], message: str) -> list[Event]:
    return [event async for event in runner.run_async(**ids, new_message=say(message))]


def _is_question(request: LlmRequest) -> bool:
    """Whether a person said the last thing."""
    return not any(part.function_response for part in request.contents[-1].parts or [])


async def test_a_session_that_there_is_not_is_named() -> None:
    """Contract L1."""
    runner = InMemoryRunner(LlmAgent(name="clerk", model=ScriptedModel()))
    with pytest.raises(SessionNotFoundError, match="'nowhere'") as error:
        await anext(runner.run_async(user_id="ada", session_id="nowhere", new_message=say("hi")))
    assert isinstance(error.value, ValueError)


async def test_the_persons_message_is_the_first_event_with_its_state_delta() -> None:
    """Contract L2, E8."""
    runner = InMemoryRunner(LlmAgent(name="clerk", model=ScriptedModel(turns=["hello"])))
    ids = await opened(runner)
    run = runner.run_async(**ids, new_message=say("hi"), state_delta={"n": 1, "user:m": 2})
    events = [event async for event in run]
    assert outline(events) == ["clerk: hello"]
    session = await stored(runner, ids)
    message, answer = session.events
    assert (message.author, message.content, message.actions.state_delta) == (
        "user",
        say("hi"),
        {"n": 1, "user:m": 2},
    )
    assert session.state == {"n": 1, "user:m": 2}
    assert message.invocation_id == answer.invocation_id == events[0].invocation_id
    assert message.invocation_id.startswith("e-")


async def test_every_invocation_has_an_id_of_its_own() -> None:
    """Contract L2."""
    conversation = Conversation(LlmAgent(name="clerk", model=ScriptedModel(turns=["a", "b"])))
    ids = {(await conversation.say("x"))[0].invocation_id for _ in range(2)}
    assert len(ids) == 2


async def test_an_event_is_committed_then_seen_then_the_agent_goes_on() -> None:
    """Contract L3."""
    told: list[str] = []
    agent = Steps(name="steps", told=told, delta={"k": 1})
    runner = Runner(app_name="shop", agent=agent, session_service=Watched(told))
    ids = await opened(runner)
    async with aclosing(runner.run_async(**ids, new_message=say("go"))) as events:
        async for event in events:
            told.append(f"seen {event.text()}")
            assert (await stored(runner, ids)).events[-1].text() == event.text()
    assert told == [
        "commit go",
        "commit one",
        "seen one",
        "after one: True ['k_one']",
        "commit two",
        "seen two",
        "after two: True ['k_one', 'k_two']",
        "closed",
    ]


async def test_partial_events_are_forwarded_and_neither_stored_nor_applied() -> None:
    """Contract L4: the whole that follows is committed once, under the id that the fragments had."""

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


async def test_a_streamed_answer_is_fragments_and_one_whole() -> None:
    """Contract L4, A8: fragments carry the id of the event that they become."""
    conversation = Conversation(LlmAgent(name="clerk", model=ScriptedModel(turns=["one two", "three"])))
    first, second = [await conversation.say("x", STREAMING) for _ in range(2)]
    assert [(event.text(), event.partial) for event in first] == [
        ("one ", True),
        ("two ", True),
        ("one two", None),
    ]
    assert len({event.id for event in first}) == 1
    assert first[0].id != second[0].id
    assert [event.text() for event in (await conversation.session()).events] == ["x", "one two", "x", "three"]


async def test_without_streaming_the_model_is_asked_for_the_whole() -> None:
    """Contract L10."""
    conversation = Conversation(LlmAgent(name="clerk", model=ScriptedModel(turns=["one two"])))
    assert [event.partial for event in await conversation.say("x")] == [None]


@pytest.mark.parametrize(
    "where", ["before_agent", "before_model", "model", "tool", "after_model", "after_agent"]
)
async def test_what_goes_wrong_reaches_the_caller_and_ends_the_invocation(where: str) -> None:
    """Contract L5: what was committed before stays, nothing after it is stored."""

    def fail(**kwargs: Any) -> None:
        raise LookupError(where)

    def broken() -> None:
        raise LookupError("tool")

    turns = {"model": [LookupError("model")], "tool": [call("broken"), "never"]}.get(where, ["hello"])
    callbacks = {f"{where}_callback": fail} if where not in ("model", "tool") else {}
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=turns), tools=[broken], **callbacks)
    conversation = Conversation(agent)
    with pytest.raises(LookupError, match=where):
        await conversation.say("x")
    before = {"tool": ["user: x", "clerk: broken()"], "after_agent": ["user: x", "clerk: hello"]}
    assert outline((await conversation.session()).events) == before.get(where, ["user: x"])


async def test_an_agent_whose_event_cannot_be_stored_is_closed() -> None:
    """Contract L5, S7: the caller sees the store's error, and not the event."""
    told: list[str] = []
    sessions = Watched(told)
    sessions.refused = "two"
    runner = Runner(app_name="shop", agent=Steps(name="steps", told=told), session_service=sessions)
    ids = await opened(runner)
    seen = []
    with pytest.raises(ConnectionError):
        async for event in runner.run_async(**ids, new_message=say("go")):
            seen.append(event.text())
    assert seen == ["one"]
    assert told[-1] == "closed"
    assert [event.text() for event in (await stored(runner, ids)).events] == ["go", "one"]


async def test_a_caller_that_stops_listening_stops_the_agent_and_the_model() -> None:
    """Contract L5, L7: everything is closed when `aclose` returns, all the way down."""
    ended: list[str] = []
    runner = InMemoryRunner(LlmAgent(name="clerk", model=Dripping(ended=ended)))
    ids = await opened(runner)
    run = runner.run_async(**ids, new_message=say("go"), run_config=STREAMING)
    await anext(run)
    await run.aclose()
    assert ended == ["model closed"]
    assert outline((await stored(runner, ids)).events) == ["user: go"]


async def test_a_cancelled_caller_stops_the_agent_at_its_next_await() -> None:
    """Contract L7."""
    gate = asyncio.Event()
    conversation = Conversation(
        LlmAgent(name="clerk", model=ScriptedModel(turns=[call("step"), gate]), tools=[step])
    )
    task = asyncio.create_task(conversation.say("go"))
    while len(requests_of(conversation.runner.agent)) < 2:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert outline((await conversation.session()).events) == [
        "user: go",
        "clerk: step()",
        "clerk: =step",
    ]


def test_code_without_a_loop_gets_the_same_events() -> None:
    """Contract L6."""
    runner = InMemoryRunner(
        LlmAgent(name="clerk", model=ScriptedModel(turns=[call("step"), "done"]), tools=[step])
    )
    ids = asyncio.run(opened(runner))
    thread = threading.get_ident()
    events = []
    for event in runner.run(**ids, new_message=say("go")):
        assert threading.get_ident() == thread
        events.append(event)
    assert outline(events) == ["clerk: step()", "clerk: =step", "clerk: done"]
    assert outline(asyncio.run(stored(runner, ids)).events)[1:] == outline(events)


async def test_code_inside_a_loop_may_use_it_too_and_gets_the_exceptions() -> None:
    """Contract L6."""
    runner = InMemoryRunner(
        LlmAgent(name="clerk", model=ScriptedModel(turns=[call("step"), LookupError("lost")]), tools=[step])
    )
    ids = await opened(runner)
    seen = []
    with pytest.raises(LookupError, match="lost"):
        for event in runner.run(**ids, new_message=say("go")):
            seen.append(event)
    assert outline(seen) == ["clerk: step()", "clerk: =step"]


def test_code_without_a_loop_that_stops_listening_stops_the_agent() -> None:
    """Contract L6, L7: the agent stands still until the next event is asked for, and ends when none is."""
    told: list[str] = []
    runner = InMemoryRunner(Steps(name="steps", told=told))
    ids = asyncio.run(opened(runner))
    events = runner.run(**ids, new_message=say("go"))
    next(events)
    assert told == []
    events.close()
    assert told == ["closed"]
    assert outline(asyncio.run(stored(runner, ids)).events) == ["user: go", "steps: one"]
    assert "adk-runner" not in str(threading.enumerate())


async def test_invocations_of_one_session_come_one_after_the_other() -> None:
    """Two writers never interleave; sessions do not wait for one another."""
    gate = asyncio.Event()

    async def wait() -> str:
        """Wait for the gate."""
        await gate.wait()
        return "open"

    model = ScriptedModel(rule=lambda request: call("wait") if _is_question(request) else "done")
    runner = InMemoryRunner(LlmAgent(name="clerk", model=model, tools=[wait]))
    ids, others = await opened(runner), await opened(runner)
    runs = [asyncio.create_task(_run(runner, ids, message)) for message in ("first", "second", "third")]
    elsewhere = asyncio.create_task(_run(runner, others, "elsewhere"))
    while len(model.requests) < 2:
        await asyncio.sleep(0)
    assert len(runs) == 3 and not any(run.done() for run in runs)
    gate.set()
    await asyncio.gather(*runs, elsewhere)
    turn = ["clerk: wait()", "clerk: =wait", "clerk: done"]
    expected = ["user: first", *turn, "user: second", *turn, "user: third", *turn]
    assert outline((await stored(runner, ids)).events) == expected


async def test_an_invocation_whose_caller_stopped_listening_lets_the_next_one_run() -> None:
    runner = InMemoryRunner(LlmAgent(name="clerk", model=ScriptedModel(turns=["one", "two"])))
    ids = await opened(runner)
    async for _ in runner.run_async(**ids, new_message=say("first")):
        break
    assert outline(await _run(runner, ids, "second")) == ["clerk: two"]


def test_a_session_may_be_run_on_one_event_loop_after_another() -> None:
    """Contract L6."""
    runner = InMemoryRunner(LlmAgent(name="clerk", model=ScriptedModel(rule=lambda request: "done")))
    ids = asyncio.run(opened(runner))
    for _ in range(2):
        assert outline(runner.run(**ids, new_message=say("go"))) == ["clerk: done"]
        assert outline(asyncio.run(_run(runner, ids, "go"))) == ["clerk: done"]


async def test_an_app_brings_its_name_agent_and_plugins() -> None:
    """Contract L9."""
    app = App(name="tea-shop", root_agent=LlmAgent(name="clerk", model=ScriptedModel(turns=["hello"])))
    runner = InMemoryRunner(app=app)
    assert (runner.app_name, runner.agent) == ("tea-shop", app.root_agent)
    ids = await opened(runner)
    assert outline([event async for event in runner.run_async(**ids, new_message=say("hi"))]) == [
        "clerk: hello"
    ]


async def test_no_plugins_may_be_said_by_none() -> None:
    """Contract L9: as ADK's own default does."""
    agent = LlmAgent(name="clerk", model=ScriptedModel(rule=lambda request: "hello"))
    service = InMemorySessionService()
    for runner in (
        InMemoryRunner(agent, app_name="shop", plugins=None),
        InMemoryRunner(app=App(name="shop", root_agent=agent), plugins=None),
        Runner(app_name="shop", agent=agent, session_service=service, plugins=None),
    ):
        assert outline(await _run(runner, await opened(runner), "hi")) == ["clerk: hello"]


def test_a_runner_needs_an_app_or_an_agent_with_a_name() -> None:
    """Contract L9."""
    agent = LlmAgent(name="clerk", model=ScriptedModel())
    with pytest.raises(ValueError, match="app_name"):
        Runner(session_service=InMemorySessionService(), agent=agent)
    with pytest.raises(ValueError, match="not both"):
        Runner(session_service=InMemorySessionService(), app=App(name="a", root_agent=agent), agent=agent)


async def test_an_invocation_that_asks_the_model_too_often_is_stopped() -> None:
    """Contract L10."""
    model = ScriptedModel(rule=lambda request: call("step"))
    conversation = Conversation(LlmAgent(name="clerk", model=model, tools=[step]))
    with pytest.raises(LlmCallsLimitExceededError, match="2"):
        await conversation.say("go", RunConfig(max_llm_calls=2))
    assert len(model.requests) == 2
    model.rule = lambda request: "done"
    assert outline(await conversation.say("again", RunConfig(max_llm_calls=1))) == ["clerk: done"]


async def test_custom_metadata_is_on_every_event_of_the_invocation() -> None:
    """Contract L10."""
    model = ScriptedModel(turns=[call("step"), "done"])
    conversation = Conversation(LlmAgent(name="clerk", model=model, tools=[step]))
    await conversation.say("go", RunConfig(custom_metadata={"trace": "t1"}))
    events = (await conversation.session()).events
    assert [event.custom_metadata for event in events] == [{"trace": "t1"}] * 4


async def test_a_synchronous_tool_does_not_stall_the_loop_and_keeps_context_variables() -> None:
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
async def test_a_model_error_is_an_event_of_the_agent_and_the_end_of_its_turn(turn: Any) -> None:
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
    assert [content.parts[0].text for content in model.requests[1].contents] == ["x", "again"]
