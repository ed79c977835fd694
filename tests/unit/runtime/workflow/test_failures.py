"""Nodes that fail, are tried again, or take too long (contract W5)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime import _platform, types
from runtime.events import Event
from runtime.workflow import NodeContext, NodeTimeoutError, RetryConfig, Workflow, node
from tests.fakes import say
from tests.unit.runtime.conversation import Conversation

AT_ONCE = RetryConfig(initial_delay=0, jitter=0)


async def test_an_error_event_names_the_node() -> None:
    def fail() -> None:
        raise OSError("disk full")

    conversation = Conversation(Workflow(name="flow", edges=[("START", fail)]))
    with pytest.raises(OSError, match="disk full"):
        await conversation.say("go")
    event = (await conversation.session()).events[-1]
    assert (event.author, event.error_code) == ("flow", "OSError")
    assert event.node_info is not None and event.node_info.path == "flow@1/fail@1"


async def test_a_node_is_tried_again_and_nothing_of_a_failed_attempt_is_stored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    attempts: list[int] = []

    async def unsteady(ctx: NodeContext) -> str:
        attempts.append(ctx.attempt_count)
        ctx.state[f"attempt{ctx.attempt_count}"] = True
        await ctx.save_artifact(f"attempt{ctx.attempt_count}.txt", types.Part(text="saved"))
        if ctx.attempt_count < 3:
            raise OSError
        return "done"

    conversation = Conversation(
        Workflow(name="flow", edges=[("START", node(unsteady, retry_config=AT_ONCE))])
    )
    events = await conversation.say("go")
    assert attempts == [1, 2, 3]
    assert [record.getMessage() for record in caplog.records if record.exc_info] == [
        "Attempt 1 of node 'flow@1/unsteady@1' has failed; the next begins in 0.0 s",
        "Attempt 2 of node 'flow@1/unsteady@1' has failed; the next begins in 0.0 s",
    ]
    assert [event.error_code for event in events] == [None, None, None]
    assert (await conversation.session()).state == {"attempt3": True}
    assert [event.actions.artifact_delta for event in events] == [{}, {}, {"attempt3.txt": 0}]


@pytest.mark.parametrize(
    ("config", "attempts"),
    [
        (RetryConfig(max_attempts=2, initial_delay=0), 2),
        (RetryConfig(max_attempts=1), 1),
        (RetryConfig(initial_delay=0, exceptions=["ValueError"]), 1),
        (RetryConfig(max_attempts=3, initial_delay=0, exceptions=[OSError]), 3),
        (None, 1),
    ],
)
async def test_the_config_says_how_often_and_for_which_exceptions(config: Any, attempts: int) -> None:
    count = 0

    def fail() -> None:
        nonlocal count
        count += 1
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await Conversation(Workflow(name="flow", edges=[("START", node(fail, retry_config=config))])).say(
            "go"
        )
    assert count == attempts


def test_delays_grow_to_a_limit() -> None:
    config = RetryConfig(initial_delay=1, backoff_factor=10, max_delay=50, jitter=0, max_attempts=2000)
    assert [config.delay_after(number, OSError()) for number in (1, 2, 3, 1999, 2000)] == [
        1,
        10,
        50,
        50,
        None,
    ]


def test_jitter_shortens_and_lengthens_a_delay_by_at_most_its_part_and_never_below_zero() -> None:
    half = RetryConfig(initial_delay=10, jitter=0.5)
    delays = [half.delay_after(1, OSError()) or 0 for _ in range(500)]
    assert 5 <= min(delays) < 6 and 14 < max(delays) <= 15
    much = RetryConfig(initial_delay=10, jitter=3)
    delays = [much.delay_after(1, OSError()) or 0 for _ in range(500)]
    assert min(delays) == 0 and 30 < max(delays) <= 40
    long = RetryConfig(initial_delay=100, max_delay=30, jitter=0.5)
    delays = [long.delay_after(1, OSError()) or 0 for _ in range(500)]
    assert 10 <= min(delays) < 12 and 28 < max(delays) <= 30


async def test_the_wait_for_the_next_attempt_outlives_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    now = 1000.0

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    def fail(ctx: NodeContext) -> int:
        if ctx.attempt_count == 1:
            raise OSError
        return ctx.attempt_count

    monkeypatch.setattr(_platform, "now", lambda: now)
    config = RetryConfig(initial_delay=30, jitter=0)
    conversation = Conversation(Workflow(name="flow", edges=[("START", node(fail, retry_config=config))]))
    session_id = (await conversation.session()).id
    run = conversation.runner.run_async(user_id="ada", session_id=session_id, new_message=say("go"))
    first = await anext(run)
    await run.aclose()  # a crash right after the failure was stored
    now = 1010.0
    monkeypatch.setattr("runtime.workflow.engine.asyncio.sleep", sleep)
    resumed = conversation.runner.run_async(
        user_id="ada", session_id=session_id, invocation_id=first.invocation_id
    )
    [event] = [event async for event in resumed]
    assert slept == [20.0]
    assert event.output == 2


async def test_a_node_that_waits_for_its_next_attempt_leaves_its_slot_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    has_run = asyncio.Event()

    async def sleep(seconds: float) -> None:
        if seconds:
            await asyncio.wait_for(has_run.wait(), 20)

    async def unsteady(node_input: Any, ctx: NodeContext) -> None:
        if node_input == 2:
            has_run.set()
        elif ctx.attempt_count == 1:
            raise OSError

    monkeypatch.setattr("runtime.workflow.engine.asyncio.sleep", sleep)
    config = RetryConfig(initial_delay=30, jitter=0)

    def numbers() -> list[int]:
        return [1, 2]

    worker = node(unsteady, retry_config=config, parallel_worker=True, max_parallel_workers=1)
    await Conversation(Workflow(name="flow", edges=[("START", numbers, worker)])).say("go")
    assert has_run.is_set()

    has_run.clear()
    both = (node(unsteady, name="first", retry_config=config), node(has_run.set, name="second"))
    await Conversation(Workflow(name="flow", edges=[("START", both)], max_concurrency=1)).say("go")
    assert has_run.is_set()


async def test_a_node_that_takes_too_long_fails_and_may_be_tried_again() -> None:
    async def hang(ctx: NodeContext) -> str:
        if ctx.attempt_count == 1:
            await asyncio.Event().wait()
        return "in time"

    with pytest.raises(NodeTimeoutError, match=r"'hang' was not done within 0.01 seconds"):
        await Conversation(Workflow(name="flow", edges=[("START", node(hang, timeout=0.01))])).say("go")
    patient = node(hang, timeout=0.01, retry_config=AT_ONCE)
    events = await Conversation(Workflow(name="flow", edges=[("START", patient)])).say("go")
    assert events[-1].output == "in time"


async def test_a_timeout_of_the_nodes_own_code_is_its_own_exception() -> None:
    async def fail() -> None:
        raise TimeoutError("the server")

    with pytest.raises(TimeoutError, match="the server"):
        await Conversation(Workflow(name="flow", edges=[("START", node(fail, timeout=60))])).say("go")


async def test_a_failure_cancels_the_nodes_beside_it_and_below_it() -> None:
    ended: list[str] = []
    begun = asyncio.Barrier(3)

    async def wait(name: str = "beside") -> None:
        await begun.wait()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async def child() -> None:
        await wait("below")

    async def parent(ctx: NodeContext) -> None:
        running = asyncio.ensure_future(ctx.run_node(child))
        await begun.wait()
        assert not running.done()
        raise OSError

    with pytest.raises(OSError):
        await Conversation(Workflow(name="flow", edges=[("START", (node(wait), parent))])).say("go")
    assert sorted(ended) == ["below", "beside"]


async def test_the_failure_of_a_node_that_another_runs_can_be_handled() -> None:
    def fail() -> None:
        raise OSError("no")

    async def careful(ctx: NodeContext) -> str:
        try:
            await ctx.run_node(fail)
        except OSError as error:
            return f"handled {error}"
        return ""

    [event] = await Conversation(Workflow(name="flow", edges=[("START", careful)])).say("go")
    assert event.output == "handled no"


async def test_a_system_exit_of_a_node_fails_its_invocation_only() -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(Exception, match="Node 'leave' raised SystemExit"):
        await Conversation(Workflow(name="flow", edges=[("START", leave)])).say("go")


async def test_after_a_failure_the_nodes_that_have_ended_do_not_run_again() -> None:
    ran: list[str] = []
    broken = True

    def first() -> str:
        ran.append("first")
        return "1"

    def second(node_input: str) -> str:
        ran.append("second")
        if broken:
            raise OSError
        return node_input + "2"

    conversation = Conversation(Workflow(name="flow", edges=[("START", first, second)]))
    with pytest.raises(OSError):
        await conversation.say("go")
    broken = False
    session = await conversation.session()
    run = conversation.runner.run_async(
        user_id="ada", session_id=session.id, invocation_id=session.events[0].invocation_id
    )
    events: list[Event] = [event async for event in run]
    assert events[-1].output == "12"
    assert ran == ["first", "second", "second"]
