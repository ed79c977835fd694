"""Steps of a workflow follow from the graph and the events alone (contract W3)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agents import BaseAgent, LlmAgent
from runtime.events import Event, RequestInput
from runtime.workflow import JoinNode, NodeContext, Workflow
from runtime.workflow.build import node
from runtime.workflow.progress import progress_of
from runtime.workflow.retry_config import RetryConfig
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, answer_to


def look_up(node_input: str) -> Event:
    return Event(output=node_input, route="found" if node_input.isdecimal() else "unknown")


def stock() -> str:
    return "in stock"


def fraud() -> str:
    return "no sign"


def ask(node_input: dict[str, Any]) -> RequestInput:
    return RequestInput(message="Refund?", payload=node_input)


def pay(node_input: str) -> str:
    return f"paid: {node_input}"


def refuse() -> str:
    return "unknown"


def make() -> Workflow:
    return Workflow(
        name="refund",
        edges=[
            ("START", look_up, {"found": (stock, fraud), "unknown": refuse}),
            ((stock, fraud), JoinNode(name="checks"), ask, pay),
        ],
    )


async def all_events(conversation: Conversation) -> list[Event]:
    return list((await conversation.session()).events)


def shown(
    root: BaseAgent | None, events: list[Event], *, is_running: bool = True
) -> list[tuple[int, str, str]]:
    """Return rank, name and state of each step of the only workflow, nested steps included."""
    [run] = progress_of(root, events, is_running=is_running)
    return [(step.rank, step.name, str(step.state)) for below in run.root.children for step in below.walk()]


def skipped(*steps: tuple[int, str]) -> list[tuple[int, str, str]]:
    return [(rank, name, "skipped") for rank, name in steps]


async def test_steps_say_what_is_done_what_waits_and_what_follows() -> None:
    conversation = Conversation(make())
    asked = (await conversation.say("1001"))[-1]
    events = await all_events(conversation)
    checked = [(0, "look_up", "done"), (1, "stock", "done"), (1, "fraud", "done"), (2, "checks", "done")]
    refused = (1, "refuse", "skipped")
    assert shown(make(), events) == [*checked, (3, "ask", "waiting"), refused, (4, "pay", "pending")]
    await conversation.say(answer_to(asked, {"result": "yes"}))
    events = await all_events(conversation)
    assert shown(make(), events) == [*checked, (3, "ask", "done"), (4, "pay", "done"), refused]
    [run] = progress_of(make(), events, is_running=False)
    ask_step, pay_step = run.root.children[4:6]
    assert (pay_step.input, pay_step.output, pay_step.attempts) == ("yes", "paid: yes", 1)
    assert pay_step.began_at == ask_step.ended_at and pay_step.place == len(events) - 1


async def test_at_each_earlier_event_the_steps_are_those_of_then() -> None:
    conversation = Conversation(make())
    await conversation.say("x")
    events = await all_events(conversation)
    assert shown(make(), events[:2])[:2] == [(0, "look_up", "done"), (1, "refuse", "running")]
    assert [state for _, _, state in shown(make(), events)] == ["done", "done", *["skipped"] * 5]


async def run_until_failure(workflow: Workflow) -> list[Event]:
    conversation = Conversation(workflow)
    with pytest.raises(RuntimeError):
        await conversation.say("go")
    return await all_events(conversation)


async def test_a_failed_node_is_failed_and_those_beside_it_are_stopped() -> None:
    attempts: list[int] = []

    def fail(ctx: NodeContext) -> None:
        attempts.append(1)
        raise RuntimeError

    def after() -> str:
        return "never"

    retry = RetryConfig(max_attempts=3, initial_delay=0, jitter=0)
    flow = Workflow(name="flow", edges=[("START", node(fail, retry_config=retry), after)])
    events = await run_until_failure(flow)
    [run] = progress_of(flow, events, is_running=False)
    failed = run.root.children[0]
    assert (run.root.state, failed.state, failed.error) == ("failed", "failed", "RuntimeError")
    assert failed.attempts == len(attempts) == 3
    assert shown(flow, events)[0][2] == "retrying"
    assert shown(flow, events[:-1])[1] == (1, "after", "pending")


async def test_a_node_that_is_tried_again_ends_when_its_last_attempt_ends() -> None:
    attempts: list[int] = []

    def fail_once(ctx: NodeContext) -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise RuntimeError
        return "done"

    flow = Workflow(name="flow", edges=[("START", fail_once)])
    conversation = Conversation(flow)
    with pytest.raises(RuntimeError):
        await conversation.say("go")
    failed_events = await all_events(conversation)
    session = await conversation.session()
    resumed = conversation.runner.run_async(
        user_id="ada", session_id=session.id, invocation_id=failed_events[0].invocation_id
    )
    [*_, end] = [event async for event in resumed]
    times = []
    for events, is_running in (
        (failed_events, False),
        (failed_events, True),
        (await all_events(conversation), False),
    ):
        [run] = progress_of(flow, events, is_running=is_running)
        [step] = run.root.children
        times.append((str(step.state), step.attempts, step.ended_at))
    assert times == [
        ("failed", 1, failed_events[-1].timestamp),
        ("running", 2, None),
        ("done", 2, end.timestamp),
    ]


async def test_nested_steps_stand_below_the_node_that_runs_them() -> None:
    async def outer(ctx: NodeContext) -> Any:
        return await ctx.run_node(stock)

    flow = Workflow(name="flow", edges=[("START", outer, make())])
    conversation = Conversation(flow)
    await conversation.say("1001")
    events = await all_events(conversation)
    assert shown(flow, events) == [
        (0, "outer", "done"),
        (0, "stock", "done"),
        (1, "refund", "done"),
        (0, "look_up", "done"),
        (1, "refuse", "done"),
        *(
            (rank, name, "skipped")
            for rank, name in ((1, "stock"), (1, "fraud"), (2, "checks"), (3, "ask"), (4, "pay"))
        ),
    ]


async def test_an_id_with_the_signs_of_a_path_is_no_level_of_it() -> None:
    ids: list[str] = []

    def note(ctx: NodeContext) -> None:
        ids.append(ctx.run_id)

    async def outer(ctx: NodeContext) -> None:
        await ctx.run_node(note, run_id="2026/17@b%2F")

    flow = Workflow(name="flow", edges=[("START", outer)])
    conversation = Conversation(flow)
    await conversation.say("go")
    assert ids == ["2026/17@b%2F"]
    assert shown(flow, await all_events(conversation)) == [(0, "outer", "done"), (0, "note", "done")]


async def test_without_the_graph_the_steps_are_those_that_the_events_tell_of() -> None:
    conversation = Conversation(make())
    await conversation.say("x")
    assert shown(None, await all_events(conversation)) == [(0, "look_up", "done"), (0, "refuse", "done")]


async def test_the_work_of_an_agent_for_another_is_no_step() -> None:
    def make_desk() -> LlmAgent:
        poet = LlmAgent(name="poet", mode="single_turn", model=ScriptedModel(turns=["Roses."]))
        turns = [call("poet", "c1", request="of roses"), "Here."]
        return LlmAgent(name="desk", model=ScriptedModel(turns=turns), sub_agents=[poet])

    conversation = Conversation(make_desk())
    await conversation.say("A poem")
    events = await all_events(conversation)
    assert [event.text() for event in events if event.isolation_scope] == ["Roses."]
    assert progress_of(make_desk(), events, is_running=False) == []
    flow = Workflow(name="flow", edges=[("START", make_desk())])
    conversation = Conversation(flow)
    await conversation.say("A poem")
    assert shown(flow, await all_events(conversation)) == [(0, "desk", "done")]
