"""Contract S6, Q1, A5: lists and dicts in the state that parallel calls or parallel agents read and change."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from runtime.agents import BaseAgent, LlmAgent, ParallelAgent
from runtime.sessions import State
from runtime.tools import BaseTool, ToolContext
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation

Write = Callable[[State, int], None]


def assign(state: State, item: int) -> None:
    state["log"] = [*state["log"], item]


def append(state: State, item: int) -> None:
    state["log"].append(item)


def append_and_assign(state: State, item: int) -> None:
    state["log"].append(item)
    state["log"] = sorted(state["log"])


def llm(name: str, *turns: Any, tools: list[Any], **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(turns=list(turns)), tools=tools, **fields)


async def state_after(agent: BaseAgent, state: dict[str, Any]) -> dict[str, Any]:
    """Return the stored state after one invocation of the agent."""
    conversation = Conversation(agent, state=state)
    async with asyncio.timeout(10):
        await conversation.say("go")
    return (await conversation.session()).state


@pytest.mark.parametrize("order", [("count", "write"), ("write", "count")])
async def test_a_reading_call_does_not_undo_writes_of_a_parallel_call(order: tuple[str, str]) -> None:
    """Contract S6, Q1: the reading call ends between two writes."""
    has_read, written, has_ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def count(tool_context: ToolContext) -> int:
        """Count before the first write; end after it."""
        number = len(tool_context.state["items"])
        has_read.set()
        await written.wait()
        return number

    async def write(tool_context: ToolContext) -> None:
        """Write twice."""
        await has_read.wait()
        tool_context.state["items"] = [1]
        written.set()
        await has_ended.wait()
        tool_context.state["items"] = [1, 2]

    def note_end(tool: BaseTool, **_: Any) -> None:
        if tool.name == "count":
            asyncio.get_running_loop().call_soon(has_ended.set)

    calls = [call(name) for name in order]
    clerk = llm("clerk", calls, "done", tools=[count, write], after_tool_callback=note_end)
    assert await state_after(clerk, {"items": []}) == {"items": [1, 2]}


@pytest.mark.parametrize("ends", ["between the commits", "after the commits"])
@pytest.mark.parametrize("write", [assign, append, append_and_assign])
async def test_a_reading_agent_does_not_undo_commits_of_a_parallel_agent(write: Write, ends: str) -> None:
    """Contract S6, A5."""
    has_read, committed_one, committed_all = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def count(tool_context: ToolContext) -> int:
        """Count, then wait for a commit of the other agent."""
        number = len(tool_context.state["log"])
        has_read.set()
        await (committed_one if ends == "between the commits" else committed_all).wait()
        return number

    async def wait() -> None:
        """Hold up the answer to `count`."""
        await committed_all.wait()

    async def put(item: int, tool_context: ToolContext) -> None:
        """Put an item into the log."""
        await has_read.wait()
        if item == 2:
            committed_one.set()
            await asyncio.sleep(0)
        write(tool_context.state, item)

    reader = llm("reader", [call("count"), call("wait")], "done", tools=[count, wait])
    puts = [call("put", item=item) for item in (1, 2, 3)]
    writer = llm(
        "writer",
        *puts,
        "done",
        tools=[put],
        after_agent_callback=lambda callback_context: committed_all.set(),
    )
    both = ParallelAgent(name="both", sub_agents=[reader, writer])
    assert await state_after(both, {"log": []}) == {"log": [1, 2, 3]}


@pytest.mark.parametrize(
    ("given", "add", "kept"),
    [
        ([], lambda log, name: log.append(name), ["early", "early", "late"]),
        ({}, lambda log, name: log.update({f"{name}{len(log)}": 1}), {"early0": 1, "early1": 1, "late2": 1}),
    ],
    ids=["a list", "a dict"],
)
async def test_changes_in_place_survive_commits_of_a_parallel_agent(
    given: Any, add: Callable[[Any, str], None], kept: object
) -> None:
    """Contract S6, A5: two agents add to one object; the first has fetched the object before the second's commits."""
    has_read, committed = asyncio.Event(), asyncio.Event()

    async def add_late(tool_context: ToolContext) -> None:
        """Fetch the log, wait until the other agent has ended, and add to it."""
        log = tool_context.state["log"]
        has_read.set()
        await committed.wait()
        add(log, "late")

    async def add_early(tool_context: ToolContext) -> None:
        """Add to the log."""
        await has_read.wait()
        add(tool_context.state["log"], "early")

    late = llm("late", call("add_late"), "done", tools=[add_late])
    early = llm(
        "early",
        [call("add_early"), call("add_early")],
        "done",
        tools=[add_early],
        after_agent_callback=lambda callback_context: committed.set(),
    )
    both = ParallelAgent(name="both", sub_agents=[late, early])
    assert await state_after(both, {"log": given}) == {"log": kept}


def test_a_second_read_returns_the_object_assigned_in_between() -> None:
    """Contract S6."""
    value: dict[str, Any] = {"log": []}
    first, second = State(value, {}), State(value, {})
    stale = first["log"]
    second["log"] = ["second"]
    first["log"].append("first")
    stale.append("to an object that is no longer in the state")
    assert first.has_delta()
    assert value == {"log": ["second", "first"]}


async def test_an_assigned_object_is_copied_by_the_commit() -> None:
    """Contract S6: later changes of the state do not change a constant of the program."""
    constant: list[str] = []

    def reset(tool_context: ToolContext) -> None:
        """Empty the cart."""
        tool_context.state["cart"] = constant

    def put(tool_context: ToolContext) -> None:
        """Put tea into the cart."""
        tool_context.state["cart"].append("tea")

    clerk = llm("clerk", call("reset"), call("put"), call("put"), "done", tools=[reset, put])
    assert await state_after(clerk, {}) == {"cart": ["tea", "tea"]}
    assert constant == []


async def test_the_next_step_reads_values_as_json_stores_them() -> None:
    """Contract S8, Q15: also values that were changed in place."""
    seen: list[object] = []

    def pair(tool_context: ToolContext) -> None:
        """Add a pair."""
        seen.append(list(tool_context.state["pairs"]))
        tool_context.state["pairs"].append((1, 2))

    clerk = llm("clerk", call("pair"), call("pair"), "done", tools=[pair])
    assert await state_after(clerk, {"pairs": []}) == {"pairs": [[1, 2], [1, 2]]}
    assert seen == [[], [[1, 2]]]


@pytest.fixture
def frequent_thread_switches() -> Iterator[None]:
    """Make the interpreter switch threads as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_a_dict_may_be_read_while_a_call_in_a_thread_changes_it(frequent_thread_switches: None) -> None:
    """Contract L11, Q1."""
    value = {"numbers": {str(number): [number] for number in range(100)}}
    is_over = threading.Event()

    def write() -> None:
        numbers = State(value, {})["numbers"]
        while not is_over.is_set():
            for number in range(100):
                numbers[f"new {number}"] = []
            for number in range(100):
                del numbers[f"new {number}"]

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            for _ in range(200):
                reader = State(value, {})
                assert reader["numbers"]["7"] == [7]
                reader.note_changes()
        finally:
            is_over.set()
        writing.result()
    assert len(value["numbers"]) == 100
