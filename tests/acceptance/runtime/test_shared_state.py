"""Contract S6, Q1, A5: lists and dicts of the state that calls of one step, or parallel agents, have at hand at a time."""

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


async def left_by(agent: BaseAgent, state: dict[str, Any]) -> dict[str, Any]:
    """The state that is stored after a message to the agent."""
    conversation = Conversation(agent, state=state)
    async with asyncio.timeout(10):
        await conversation.say("go")
    return (await conversation.session()).state


@pytest.mark.parametrize("order", [("count", "write"), ("write", "count")])
async def test_a_call_that_reads_undoes_nothing_that_its_sibling_writes(order: tuple[str, str]) -> None:
    """Contract S6, Q1: the reader ends between two writes."""
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
    assert await left_by(clerk, {"items": []}) == {"items": [1, 2]}


@pytest.mark.parametrize("ends", ["between the commits", "after the commits"])
@pytest.mark.parametrize("write", [assign, append, append_and_assign])
async def test_an_agent_that_reads_undoes_nothing_that_a_parallel_one_committed(
    write: Write, ends: str
) -> None:
    """Contract S6, A5: whenever it ends, and however the other one writes."""
    has_read, committed_one, committed_all = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def count(tool_context: ToolContext) -> int:
        """Count, then take a while."""
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
    assert await left_by(both, {"log": []}) == {"log": [1, 2, 3]}


@pytest.mark.parametrize(
    ("given", "add", "kept"),
    [
        ([], lambda log, name: log.append(name), ["early", "early", "late"]),
        ({}, lambda log, name: log.update({f"{name}{len(log)}": 1}), {"early0": 1, "early1": 1, "late2": 1}),
    ],
    ids=["a list", "a dict"],
)
async def test_what_is_changed_in_place_stays_at_hand_across_the_commits_of_others(
    given: Any, add: Callable[[Any, str], None], kept: object
) -> None:
    """Contract S6, A5: nothing is lost of what parallel agents add to one object, though one of them fetched it long before."""
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
    assert await left_by(both, {"log": given}) == {"log": kept}


def test_who_reads_again_has_what_was_assigned_meanwhile_at_hand() -> None:
    """Contract S6."""
    value: dict[str, Any] = {"log": []}
    one, other = State(value, {}), State(value, {})
    stale = one["log"]
    other["log"] = ["other"]
    one["log"].append("one")
    stale.append("to an object that is the state's no more")
    assert one.has_delta()
    assert value == {"log": ["other", "one"]}


async def test_what_a_program_assigns_stays_its_own_once_it_is_committed() -> None:
    """Contract S6: what later code does to the state does not reach a constant of the program."""
    constant: list[str] = []

    def reset(tool_context: ToolContext) -> None:
        """Begin anew."""
        tool_context.state["cart"] = constant

    def put(tool_context: ToolContext) -> None:
        """Put tea into the cart."""
        tool_context.state["cart"].append("tea")

    clerk = llm("clerk", call("reset"), call("put"), call("put"), "done", tools=[reset, put])
    assert await left_by(clerk, {}) == {"cart": ["tea", "tea"]}
    assert constant == []


async def test_what_json_turns_into_something_else_is_seen_so_by_the_next_step() -> None:
    """Contract S8, Q15: also what was changed in place."""
    seen: list[object] = []

    def pair(tool_context: ToolContext) -> None:
        """Add a pair."""
        seen.append(list(tool_context.state["pairs"]))
        tool_context.state["pairs"].append((1, 2))

    clerk = llm("clerk", call("pair"), call("pair"), "done", tools=[pair])
    assert await left_by(clerk, {"pairs": []}) == {"pairs": [[1, 2], [1, 2]]}
    assert seen == [[], [[1, 2]]]


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_a_dict_may_be_read_while_a_call_in_a_thread_changes_it(hasty_threads: None) -> None:
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
