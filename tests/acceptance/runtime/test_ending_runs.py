"""Contract L5 to L7: failed, closed, cancelled and sync runs, and the order of runs in one session."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from runtime.agents import BaseAgent, InvocationContext, LlmAgent, ParallelAgent, SequentialAgent
from runtime.agents.callback_context import CallbackContext
from runtime.events import Event
from runtime.runners import InMemoryRunner, Runner
from tests.acceptance.runtime.event_log import (
    STREAMING,
    EndlessModel,
    RecordingSessionService,
    Steps,
    create_session,
    ends_with_message,
    load_session,
    run,
    step,
)
from tests.fakes import ScriptedModel, call, requests_of, say
from tests.unit.runtime.conversation import Conversation, outline


@pytest.mark.parametrize(
    "where", ["before_agent", "before_model", "model", "tool", "after_model", "after_agent"]
)
async def test_an_exception_reaches_the_caller_and_ends_the_invocation(where: str) -> None:
    """Contract L5: events committed before the exception are kept, and an error event follows."""

    def fail(**kwargs: Any) -> None:
        raise LookupError(where)

    def broken() -> None:
        raise LookupError("tool")

    scripts: dict[str, list[Any]] = {"model": [LookupError("model")], "tool": [call("broken"), "never"]}
    turns = scripts.get(where, ["hello"])
    callbacks: dict[str, Any] = {f"{where}_callback": fail} if where not in ("model", "tool") else {}
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=turns), tools=[broken], **callbacks)
    conversation = Conversation(agent)
    with pytest.raises(LookupError, match=where):
        await conversation.say("x")
    before = {"tool": ["user: x", "clerk: broken()"], "after_agent": ["user: x", "clerk: hello"]}
    events = (await conversation.session()).events
    assert outline(events) == [*before.get(where, ["user: x"]), "clerk: !LookupError"]
    assert "LookupError" not in (events[-1].error_message or "")


BROKEN = LookupError("second")
TRANSFER = call("transfer_to_agent", agent_name="second")


class Supervisor(BaseAgent):
    """Runs its sub-agents until one fails, then fails itself."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        for agent in self.sub_agents:
            try:
                async for event in agent.run_async(ctx):
                    yield event
            except LookupError:
                raise ValueError("supervisor") from None


def agent(name: str, *turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(turns=list(turns)), **fields)


@pytest.mark.parametrize(
    ("make", "failed"),
    [
        (
            lambda: SequentialAgent(name="top", sub_agents=[agent("first", "hi"), agent("second", BROKEN)]),
            "second",
        ),
        (
            lambda: ParallelAgent(name="top", sub_agents=[agent("first", "hi"), agent("second", BROKEN)]),
            "second",
        ),
        (lambda: agent("top", TRANSFER, sub_agents=[agent("second", BROKEN)]), "second"),
        (lambda: Supervisor(name="top", sub_agents=[agent("first", "hi"), agent("second", BROKEN)]), "top"),
    ],
    ids=["sequence", "parallel", "transfer", "caught"],
)
async def test_the_error_event_names_the_agent_that_failed(
    make: Callable[[], BaseAgent], failed: str
) -> None:
    """Contract L5: not the agent that spoke last, nor the agents that the exception passes."""
    conversation = Conversation(make())
    with pytest.raises((LookupError, ValueError)):
        await conversation.say("x")
    last = (await conversation.session()).events[-1]
    assert last.error_code in ("LookupError", "ValueError")
    assert last.author == failed


async def test_a_resumed_agent_runs_its_before_callback_again_if_it_failed() -> None:
    """Contract C2, R1: the event of the failure does not count as a beginning."""
    failures = [LookupError("once")]

    def prepare(callback_context: CallbackContext) -> None:
        if failures:
            raise failures.pop()
        callback_context.state["ready"] = True

    runner = InMemoryRunner(agent("clerk", "hello", before_agent_callback=prepare))
    ids = await create_session(runner)
    with pytest.raises(LookupError):
        await run(runner, ids, "x")
    failed = (await load_session(runner, ids)).events[-1]
    async for event in runner.run_async(**ids, invocation_id=failed.invocation_id):
        last = event
    assert (last.text(), (await load_session(runner, ids)).state["ready"]) == ("hello", True)


async def test_an_agent_whose_event_cannot_be_stored_is_closed() -> None:
    """Contract L5, S7: the caller gets the store's error and not the event."""
    log: list[str] = []
    sessions = RecordingSessionService(log)
    sessions.refused = "two"
    runner = Runner(app_name="shop", agent=Steps(name="steps", log=log), session_service=sessions)
    ids = await create_session(runner)
    seen = []
    with pytest.raises(ConnectionError):
        async for event in runner.run_async(**ids, new_message=say("go")):
            seen.append(event.text())
    assert seen == ["one"]
    assert log[-1] == "closed"
    assert [event.text() for event in (await load_session(runner, ids)).events] == ["go", "one"]


async def test_closing_the_run_closes_the_agent_and_the_model() -> None:
    """Contract L5, L7: all nested generators are closed when `aclose` returns."""
    log: list[str] = []
    runner = InMemoryRunner(LlmAgent(name="clerk", model=EndlessModel(log=log)))
    ids = await create_session(runner)
    run = runner.run_async(**ids, new_message=say("go"), run_config=STREAMING)
    await anext(run)
    await run.aclose()
    assert log == ["model closed"]
    assert outline((await load_session(runner, ids)).events) == ["user: go"]


async def test_cancelling_the_caller_stops_the_agent_at_its_next_await() -> None:
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


def test_a_sync_run_yields_the_same_events() -> None:
    """Contract L6."""
    runner = InMemoryRunner(
        LlmAgent(name="clerk", model=ScriptedModel(turns=[call("step"), "done"]), tools=[step])
    )
    ids = asyncio.run(create_session(runner))
    thread = threading.get_ident()
    events = []
    for event in runner.run(**ids, new_message=say("go")):
        assert threading.get_ident() == thread
        events.append(event)
    assert outline(events) == ["clerk: step()", "clerk: =step", "clerk: done"]
    assert outline(asyncio.run(load_session(runner, ids)).events)[1:] == outline(events)


async def test_a_sync_run_works_inside_an_event_loop_and_raises_the_exceptions() -> None:
    """Contract L6."""
    runner = InMemoryRunner(
        LlmAgent(name="clerk", model=ScriptedModel(turns=[call("step"), LookupError("lost")]), tools=[step])
    )
    ids = await create_session(runner)
    seen = []
    with pytest.raises(LookupError, match="lost"):
        for event in runner.run(**ids, new_message=say("go")):
            seen.append(event)
    assert outline(seen) == ["clerk: step()", "clerk: =step", "clerk: !LookupError"]


def test_closing_a_sync_run_closes_the_agent() -> None:
    """Contract L6, L7: the agent waits until the next event is requested, and is closed with the generator."""
    log: list[str] = []
    runner = InMemoryRunner(Steps(name="steps", log=log))
    ids = asyncio.run(create_session(runner))
    events = runner.run(**ids, new_message=say("go"))
    next(events)
    assert log == []
    events.close()
    assert log == ["closed"]
    assert outline(asyncio.run(load_session(runner, ids)).events) == ["user: go", "steps: one"]
    assert "adk-runner" not in str(threading.enumerate())


async def test_invocations_of_one_session_run_one_after_the_other() -> None:
    """Invocations of different sessions run concurrently."""
    gate = asyncio.Event()

    async def wait() -> str:
        """Wait for the gate."""
        await gate.wait()
        return "open"

    model = ScriptedModel(rule=lambda request: call("wait") if ends_with_message(request) else "done")
    runner = InMemoryRunner(LlmAgent(name="clerk", model=model, tools=[wait]))
    ids, other_ids = await create_session(runner), await create_session(runner)
    runs = [asyncio.create_task(run(runner, ids, message)) for message in ("first", "second", "third")]
    elsewhere = asyncio.create_task(run(runner, other_ids, "elsewhere"))
    while len(model.requests) < 2:
        await asyncio.sleep(0)
    assert len(runs) == 3 and not any(run.done() for run in runs)
    gate.set()
    await asyncio.gather(*runs, elsewhere)
    turn = ["clerk: wait()", "clerk: =wait", "clerk: done"]
    expected = ["user: first", *turn, "user: second", *turn, "user: third", *turn]
    assert outline((await load_session(runner, ids)).events) == expected


async def test_an_abandoned_invocation_does_not_block_the_next_one() -> None:
    runner = InMemoryRunner(LlmAgent(name="clerk", model=ScriptedModel(turns=["one", "two"])))
    ids = await create_session(runner)
    async for _ in runner.run_async(**ids, new_message=say("first")):
        break
    assert outline(await run(runner, ids, "second")) == ["clerk: two"]


def test_a_session_can_be_run_on_one_event_loop_after_another() -> None:
    """Contract L6."""
    runner = InMemoryRunner(LlmAgent(name="clerk", model=ScriptedModel(rule=lambda request: "done")))
    ids = asyncio.run(create_session(runner))
    for _ in range(2):
        assert outline(runner.run(**ids, new_message=say("go"))) == ["clerk: done"]
        assert outline(asyncio.run(run(runner, ids, "go"))) == ["clerk: done"]
