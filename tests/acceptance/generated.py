"""Hypothesis strategies for trees of agents with scripted models and tools; `Cast` builds real agents from a tree."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hypothesis import strategies as st

from runtime import types
from runtime.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from runtime.models import LlmRequest
from runtime.tools import LongRunningFunctionTool, ToolContext, exit_loop
from tests.fakes import ScriptedModel, Turn, call

Kind = Literal["sequential", "loop", "parallel"]

KEYS = [f"{scope}{key}" for scope in ("", "user:", "app:", "temp:") for key in ("x", "y")]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.text("aé\n\u2603", max_size=3),
    st.lists(st.integers(0, 3)),
)
WRITES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=2)
LOGGED_TOOLS = ["work", "work_blocking", "order", "exit_loop", "no_such_tool"]
"""Tools whose calls always get a function response."""
TOOLS = [*LOGGED_TOOLS, "order_silently", "fail", "stop_all"]


@dataclass(frozen=True)
class Call:
    """A function call; `is_reused` gives it an id that other calls of the agent have, too."""

    tool: str
    writes: dict[str, Any]
    is_reused: bool


@dataclass(frozen=True)
class Llm:
    """An LLM agent. A turn is a text, a list of parallel calls, the number of a child to transfer to, or a failure."""

    turns: list[str | list[Call] | int | LookupError]
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Workflow:
    kind: Kind
    children: list[Node]


Node = Llm | Workflow


def trees(*, may_fail: bool) -> st.SearchStrategy[Node]:
    """Return a strategy for trees of a few agents.

    Without `may_fail`, tools neither fail, stop the invocation nor return None, and every call has an id of its own.
    """
    tools = TOOLS if may_fail else LOGGED_TOOLS
    is_reused = st.booleans() if may_fail else st.just(False)
    calls = st.lists(st.builds(Call, st.sampled_from(tools), WRITES, is_reused), min_size=1, max_size=3)
    calls = calls.map(_without_siblings_of_failures)
    turn: st.SearchStrategy[Any] = st.one_of(st.sampled_from(["yes", "well then"]), calls, calls)
    if may_fail:
        turn = st.one_of(turn, turn, turn, st.builds(LookupError, st.just("no model")))
    leaf = st.builds(Llm, st.lists(turn, max_size=3), st.just([]))
    return st.recursive(
        leaf, lambda nodes: st.one_of(_workflows(nodes), _coordinators(nodes, turn)), max_leaves=4
    )


def _without_siblings_of_failures(calls: list[Call]) -> list[Call]:
    """Keep only the first failing call, if any: the number of siblings that finish before it differs between runs."""
    failing = [call for call in calls if call.tool in ("fail", "stop_all")]
    return failing[:1] or calls


def _workflows(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    kinds = st.sampled_from(("sequential", "loop", "parallel"))
    return st.builds(Workflow, kinds, st.lists(nodes, min_size=1, max_size=3))


def _coordinators(nodes: st.SearchStrategy[Node], turn: st.SearchStrategy[Any]) -> st.SearchStrategy[Node]:
    turns = st.lists(st.one_of(turn, st.integers(0, 1)), max_size=3)
    return st.builds(Llm, turns, st.lists(nodes, min_size=1, max_size=2))


def has_parallel(node: Node) -> bool:
    is_parallel = isinstance(node, Workflow) and node.kind == "parallel"
    return is_parallel or any(has_parallel(child) for child in node.children)


class Cast:
    """Agents for a tree, named after their position in it. The ids of function calls are reproducible.

    Attributes:
        scripts: the turns of each model, by the agent's name; after the last turn the model answers "done".
        executed: the ids of the executed calls.
        uncommitted: the ids of calls that were executed before their event was in the session.
        requests: the requests of all models.
        misread: the state keys that a tool read another value of than the tools had written last.
        stop: cancels the running invocation.
    """

    def __init__(self, node: Node, *, turns_done: dict[str, int] | None = None) -> None:
        self.scripts: dict[str, list[Turn]] = {}
        self.executed: list[str | None] = []
        self.uncommitted: list[str | None] = []
        self.requests: list[LlmRequest] = []
        self.misread: list[str] = []
        self.stop: Callable[[], object] = lambda: None
        self._written: dict[str, tuple[str, list[Any]]] = {}
        self._lock = threading.Lock()
        self._turns_done = turns_done or {}
        self.root = self._agent(node, "a")

    def begin_invocation(self, state: Mapping[str, Any]) -> None:
        """Expect tools to read this state: an invocation that has failed may have lost writes."""
        self._written = {key: ("", [value]) for key, value in state.items()}

    def _agent(self, node: Node, name: str) -> BaseAgent:
        children = [self._agent(child, f"{name}{number}") for number, child in enumerate(node.children)]
        if isinstance(node, Llm):
            self.scripts[name] = list(_script(node, name))
            return self._llm(name, children)
        if node.kind == "loop":
            return LoopAgent(name=name, sub_agents=children, max_iterations=2)
        return {"sequential": SequentialAgent, "parallel": ParallelAgent}[node.kind](
            name=name, sub_agents=children
        )

    def _llm(self, name: str, children: list[BaseAgent]) -> LlmAgent:
        turns = iter(self.scripts[name][self._turns_done.get(name, 0) :])

        def next_turn(request: LlmRequest) -> Turn:
            self.requests.append(request)
            return next(turns, "done")

        long_running = [LongRunningFunctionTool(self.order), LongRunningFunctionTool(self.order_silently)]
        tools = [self.work, self.work_blocking, self.fail, self.stop_all, exit_loop]
        model = ScriptedModel(rule=next_turn)
        return LlmAgent(
            name=name,
            model=model,
            tools=[*tools, *long_running],
            sub_agents=children,
            output_key=f"said_{name}",
        )

    def _run(self, writes: dict[str, Any], context: ToolContext) -> None:
        call_id = context.function_call_id
        self.executed.append(call_id)
        if not any(call_id == c.id for e in context.session.events for c in e.get_function_calls()):
            self.uncommitted.append(call_id)
        with self._lock:
            for key in KEYS:
                self._read(_key_of(context, key), context)
            for key, value in writes.items():
                self._write(_key_of(context, key), value, context)

    def _read(self, key: str, context: ToolContext) -> None:
        """Compare the value with those that the last step to write the key has written, in any order."""
        _, expected = self._written.get(key, ("", [None]))
        if context.state.get(key) not in expected:
            self.misread.append(key)

    def _write(self, key: str, value: Any, context: ToolContext) -> None:
        step = next(
            event.id
            for event in reversed(context.session.events)
            if event.author == context.agent_name and event.get_function_calls()
        )
        last_step, values = self._written.get(key, ("", []))
        self._written[key] = (step, [*values, value] if step == last_step else [value])
        context.state[key] = value

    async def work(self, writes: dict[str, Any], tool_context: ToolContext) -> str:
        """Work for a while."""
        await asyncio.sleep(0)
        self._run(writes, tool_context)
        return "worked"

    def work_blocking(self, writes: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        """Work in a thread."""
        self._run(writes, tool_context)
        return {"worked": len(writes)}

    def fail(self, writes: dict[str, Any], tool_context: ToolContext) -> None:
        """Fail."""
        self._run(writes, tool_context)
        raise LookupError("no tool")

    async def stop_all(self, writes: dict[str, Any], tool_context: ToolContext) -> None:
        """Stop the invocation."""
        self._run(writes, tool_context)
        self.stop()
        await asyncio.sleep(0)

    def order(self, writes: dict[str, Any], tool_context: ToolContext) -> dict[str, str]:
        """Order something."""
        self._run(writes, tool_context)
        return {"status": "pending"}

    def order_silently(self, writes: dict[str, Any], tool_context: ToolContext) -> None:
        """Order something without a word."""
        self._run(writes, tool_context)


def _script(node: Llm, name: str) -> Iterator[Turn]:
    for number, turn in enumerate(node.turns):
        if isinstance(turn, int):
            if node.children:
                target = f"{name}{turn % len(node.children)}"
                yield call("transfer_to_agent", f"{name}-{number}", agent_name=target)
        elif isinstance(turn, list):
            ids = (f"{name}-{number}-{index}" for index in range(len(turn)))
            yield [
                _part(planned, f"{name}-again" if planned.is_reused else call_id)
                for planned, call_id in zip(turn, ids, strict=True)
            ]
        else:
            yield turn


def _key_of(context: ToolContext, key: str) -> str:
    """Return the key under which the agent has a value of its own."""
    scope, colon, name = key.rpartition(":")
    return f"{scope}{colon}{context.agent_name}_{name}"


def _part(planned: Call, call_id: str) -> types.Part:
    args = {} if planned.tool == "exit_loop" else {"writes": planned.writes}
    return call(planned.tool, call_id, **args)
