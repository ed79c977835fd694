"""Workflows that are interrupted after any event and go on in another process, and questions (contract W3, W4)."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from runtime import types
from runtime.agents import BaseAgent, LlmAgent, LoopAgent
from runtime.apps import App, EventsCompactionConfig
from runtime.apps.base_events_summarizer import BaseEventsSummarizer
from runtime.auth import AuthConfig, AuthCredential, AuthCredentialTypes
from runtime.auth.auth_schemes import APIKey, ApiKeyLocation
from runtime.context import Context
from runtime.errors import InvalidAnswerError, InvalidMessageError
from runtime.events import Event, EventActions, EventCompaction
from runtime.events.calls import REQUEST_INPUT
from runtime.events.request_input import RequestInput
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from runtime.runners import Runner
from runtime.sessions import InMemorySessionService, Session
from runtime.tools import FunctionTool, LongRunningFunctionTool
from runtime.tools.authenticated_function_tool import AuthenticatedFunctionTool
from runtime.workflow import JoinNode, NodeContext, RetryConfig, Workflow, node
from tests.fakes import ScriptedModel, call, pending_calls, requests_of, say, text_content
from tests.unit.runtime.conversation import Conversation, answer_to

IDS: dict[str, Any] = {"user_id": "ada", "session_id": "s1"}


class Process:
    """A process with its own workflow, which knows earlier events only from the session.

    Attributes:
        ran: names of the functions that ran, in order.
    """

    def __init__(self, make: Callable[[Process], BaseAgent], log: Sequence[Event] = ()) -> None:
        self.ran: list[str] = []
        self.log = log
        self._root = make(self)
        self.sessions = InMemorySessionService()

    async def start(self) -> Process:
        session = await self.sessions.create_session(app_name="shop", **IDS)
        for event in self.log:
            await self.sessions.append_event(session, event.model_copy(deep=True))
        self.runner = Runner(app=App(name="shop", root_agent=self._root), session_service=self.sessions)
        return self

    async def send(
        self, message: types.Content | None = None, invocation_id: str | None = None
    ) -> list[Event]:
        run = self.runner.run_async(**IDS, new_message=message, invocation_id=invocation_id)
        return [event async for event in run]

    async def session(self) -> Session:
        session = await self.sessions.get_session(app_name="shop", **IDS)
        assert session is not None
        return session

    async def answer_all(self) -> None:
        """Answer questions, the latest first, until none is open."""
        while waiting := pending_calls((await self.session()).events):
            await self.send(answer((await self.session()).events, list(waiting)[-1]))

    def note(self, name: str) -> None:
        self.ran.append(name)

    def writer(self, name: str, *texts: Any) -> LlmAgent:
        """Return an agent whose model gives the texts that are not in the log yet."""
        given = [
            event
            for event in self.log
            if event.author == name and event.content and event.content.role == "model" and not _asks(event)
        ]
        return LlmAgent(
            name=name,
            model=ScriptedModel(turns=list(texts)[len(given) :]),
            tools=[FunctionTool(self.pay, require_confirmation=True), LongRunningFunctionTool(self.order)],
        )

    def pay(self, amount: int) -> str:
        """Pay."""
        self.note("pay")
        return f"paid {amount}"

    def order(self) -> dict[str, str]:
        """Order something that comes later."""
        self.note("order")
        return {"status": "pending"}


def _asks(event: Event) -> bool:
    return any(made.name == "adk_request_confirmation" for made in event.get_function_calls())


def answer(events: Sequence[Event], call_id: str) -> types.Content:
    [made] = [made for event in events for made in event.get_function_calls() if made.id == call_id]
    response: dict[str, Any] = {"confirmed": True}
    if made.name == REQUEST_INPUT:
        response = {"result": f"answer to {(made.args or {})['message']}"}
    elif made.name == "order":
        response = {"status": "delivered"}
    part = types.FunctionResponse(id=made.id, name=made.name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=part)])


def big(process: Process) -> BaseAgent:  # noqa: C901  # one workflow with everything
    """Functions, agents, a join, a loop, questions, a tool, a worker, dynamic nodes and a nested workflow."""

    def look_up(node_input: str, ctx: NodeContext) -> dict[str, str]:
        process.note("look_up")
        ctx.state["order"] = node_input
        return {"order": node_input}

    def stock(order: str) -> int:
        process.note("stock")
        return len(order)

    def ask(node_input: dict[str, Any]) -> RequestInput:
        process.note("ask")
        return RequestInput(message="Really?", payload=node_input)

    async def check(ctx: NodeContext) -> AsyncGenerator[Any, None]:
        process.note("check")
        answered = ctx.resume_inputs
        if "one" not in answered:
            yield RequestInput(interrupt_id="one", message="One?")
        if "two" not in answered:
            yield RequestInput(interrupt_id="two", message="Two?")
        yield sorted(answered.values())

    def ask_inside() -> RequestInput:
        process.note("ask_inside")
        return RequestInput(message="Inside?")

    async def dynamic(ctx: NodeContext) -> list[Any]:
        process.note("dynamic")
        return list(
            await asyncio.gather(
                *(ctx.run_node(part, number) for number in range(3)), ctx.run_node(ask_inside)
            )
        )

    def part(node_input: int) -> int:
        process.note(f"part{node_input}")
        return node_input

    def count(n: int = 0) -> Event:
        process.note(f"count{n}")
        return Event(output={"amount": n}, state={"n": n + 1}, route="again" if n < 2 else "done")

    def items() -> list[str]:
        process.note("items")
        return ["a", "b"]

    def each(node_input: str) -> str:
        process.note(f"each {node_input}")
        return node_input * 2

    def finish(node_input: Any) -> str:
        process.note("finish")
        return f"finished with {node_input}"

    inner = Workflow(name="inner", edges=[("START", items, node(each, parallel_worker=True))])
    writer = process.writer("writer", call("order", "o1"), "Ordered.", "A text.")
    payer = FunctionTool(process.pay, require_confirmation=True)
    join = JoinNode(name="join")
    return Workflow(
        name="flow",
        edges=[
            ("START", look_up, (stock, writer, node(check, rerun_on_resume=True)), join, ask),
            (ask, dynamic, count, {"again": count, "done": payer}),
            (payer, inner, finish),
        ],
    )


async def uninterrupted(make: Callable[[Process], BaseAgent]) -> Process:
    process = await Process(make).start()
    await process.send(say("go"))
    await process.answer_all()
    return process


def ends(events: Sequence[Event]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for event in events:
        if event.node_info and event.node_info.has_ended:
            assert event.node_info.path not in found, "a run has ended twice"
            found[event.node_info.path] = event.output
    return found


async def test_a_workflow_goes_on_wherever_it_was_interrupted() -> None:
    """Each output once, the same end, and no run again after its end."""
    whole = await uninterrupted(big)
    expected = await whole.session()
    assert ends(expected.events)["flow@1/finish@1"] == "finished with ['aa', 'bb']"
    assert len(expected.events) > 30
    for count in range(1, len(expected.events) + 1):
        kept = expected.events[:count]
        process = await Process(big, kept).start()
        await process.send(invocation_id=kept[0].invocation_id)
        await process.answer_all()
        session = await process.session()
        assert ends(session.events) == ends(expected.events), count
        assert session.state == expected.state, count
        assert {event.invocation_id for event in session.events} == {kept[0].invocation_id}
        ended = {path.rpartition("/")[2].rpartition("@")[0] for path in ends(kept)}
        again = {"look_up", "stock", "dynamic", "items", "finish"} & set(process.ran) & ended
        assert not again, count


async def test_a_complete_workflow_has_nothing_to_resume() -> None:
    log = (await (await uninterrupted(big)).session()).events
    process = await Process(big, log).start()
    assert await process.send(invocation_id=log[0].invocation_id) == []
    assert process.ran == []


class Summarizer(BaseEventsSummarizer):
    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        summary = EventCompaction(
            start_timestamp=0, end_timestamp=0, compacted_content=text_content("a summary")
        )
        return Event(author="user", actions=EventActions(compaction=summary))


async def test_a_workflow_that_waits_goes_on_after_a_summary_and_after_a_rewind_was_undone() -> None:
    ran: list[str] = []

    def look_up(node_input: str) -> str:
        ran.append(node_input)
        return node_input

    def ask(node_input: str) -> RequestInput:
        return RequestInput(message=f"Refund {node_input}?")

    def refund(node_input: str) -> str:
        ran.append(node_input)
        return node_input

    flow = Workflow(name="flow", edges=[("START", look_up, ask, refund)])
    config = EventsCompactionConfig(compaction_interval=1, overlap_size=0, summarizer=Summarizer())
    runner = Runner(
        app=App(name="shop", root_agent=flow, events_compaction_config=config),
        session_service=InMemorySessionService(),
    )
    await runner.session_service.create_session(app_name="shop", **IDS)

    async def send(message: types.Content) -> Event:
        return [event async for event in runner.run_async(**IDS, new_message=message)][-1]

    await send(answer_to(await send(say("zero")), {"result": "yes, zero"}))
    first = await send(say("one"))
    second = await send(say("two"))
    session = await runner.session_service.get_session(app_name="shop", **IDS)
    assert session is not None and any(event.actions.compaction for event in session.events)
    undone = await runner.rewind_async(**IDS, rewind_before_invocation_id=first.invocation_id)
    with pytest.raises(InvalidMessageError):
        await send(answer_to(first, {"result": "too late"}))
    await runner.undo_rewind_async(**IDS, rewind_event_id=undone.id)
    await send(answer_to(second, {"result": "yes, two"}))
    ended = await send(answer_to(first, {"result": "yes, one"}))
    assert (ended.output, ended.invocation_id) == ("yes, one", first.invocation_id)
    assert ran == ["zero", "yes, zero", "one", "two", "yes, two", "yes, one"]


async def test_questions_are_answered_in_any_order() -> None:
    def ask(name: str) -> Any:
        return node(lambda: RequestInput(message=name), name=name)

    join = JoinNode(name="join")
    conversation = Conversation(
        Workflow(name="flow", edges=[("START", (ask("a"), ask("b"), ask("c")), join)])
    )
    questions = await conversation.say("go")
    for question in (questions[2], questions[0], questions[1]):
        events = await conversation.say(answer_to(question, {"result": question.branch}))
    assert ends(events)["flow@1/join@1"] == {"a": "flow.a@1", "b": "flow.b@1", "c": "flow.c@1"}


async def test_the_before_callback_of_a_workflow_runs_once_though_an_answer_continues_it() -> None:
    calls: list[str] = []

    def note(callback_context: Context) -> None:
        calls.append(callback_context.agent_name)

    ask = node(lambda: RequestInput(), name="ask")
    inner = Workflow(name="inner", edges=[("START", ask)], before_agent_callback=note)
    flow = Workflow(name="flow", edges=[("START", inner)], before_agent_callback=note)
    conversation = Conversation(flow)
    [question] = await conversation.say("go")
    events = await conversation.say(answer_to(question, {"result": "yes"}))
    assert ends(events)["flow@1/inner@1"] == "yes" and calls == ["flow", "inner"]


async def test_an_answer_that_is_an_object_is_the_output() -> None:
    conversation = Conversation(
        Workflow(name="flow", edges=[("START", node(lambda: RequestInput(), name="ask"))])
    )
    [question] = await conversation.say("go")
    events = await conversation.say(answer_to(question, {"amount": 3, "note": ""}))
    assert ends(events) == {"flow@1/ask@1": {"amount": 3, "note": ""}}


class Parcel(BaseModel):
    """What a typed question asks for."""

    kilos: int


NESTED = {
    "$defs": {"Nested": {"type": "array", "items": {"$ref": "#/$defs/Nested"}}},
    "$ref": "#/$defs/Nested",
}
DEEP = json.loads("[" * 500 + "]" * 500)
Postcode = Annotated[str, Field(pattern=r"^(\d+)+$", min_length=5)]


@pytest.mark.filterwarnings("ignore:Automatically retrieving")
@pytest.mark.parametrize(
    ("schema", "wrong", "right", "output"),
    [
        (int, "some", 3, 3),
        (int, True, "3", "3"),
        (Parcel, {"kilos": "\0" * 10**6}, {"kilos": 3}, {"kilos": 3}),
        (Parcel, [], '{"kilos": 3}', '{"kilos": 3}'),
        ({"enum": ["a", 1]}, "b", 1, 1),
        ({"type": "nonsense"}, None, "any", "any"),
        ({"$ref": "http://127.0.0.1:1/schema"}, None, "any", "any"),
        ({"$ref": 'data:application/json,{"type":"integer"}'}, None, "any", "any"),
        ({"$id": "http://[", "$ref": "x"}, None, "any", "any"),
        (int, "[" * 10**6, 3, 3),
        (int, "\ud800", 3, 3),
        (NESTED, DEEP, [[]], [[]]),
        ({"type": "number", "multipleOf": 0.1}, "1e999", 1, 1),
        ({"type": "number", "multipleOf": 0.1}, "NaN", 1, 1),
        ({"type": "number", "minimum": 1}, "1e999", 1, 1),
        ({"type": "number", "minimum": 1, "multipleOf": 0.5}, math.nan, 1, 1),
        ({"minimum": 1}, math.nan, 1, 1),
        ({"minItems": 1}, [{"a": math.inf}], [1], [1]),
        ({"type": "string"}, [10**5000], "a", "a"),
        (list[int], ["\ud800"] * 10**5, "[1]", "[1]"),
        (Postcode, "1" * 40 + "a", "12345", "12345"),
        ({"pattern": "^(?!x)"}, "xy", "y", "y"),
    ],
)
async def test_a_wrong_answer_to_a_typed_question_is_refused_and_the_question_stays_open(
    schema: Any, wrong: Any, right: Any, output: Any
) -> None:
    ask = node(lambda: RequestInput(message="How much?", response_schema=schema), name="ask")
    conversation = Conversation(Workflow(name="flow", edges=[("START", ask)]))
    [question] = await conversation.say("go")
    if wrong is not None:
        with pytest.raises(InvalidAnswerError, match="does not fit the question") as refused:
            await conversation.say(answer_to(question, {"result": wrong}))
        assert len(str(refused.value)) < 500
    events = await conversation.say(answer_to(question, {"result": right}))
    assert ends(events) == {"flow@1/ask@1": output}


async def test_an_answer_to_a_question_that_a_model_has_made_up_is_not_checked() -> None:
    made_up = call(REQUEST_INPUT, "f1", message="How much?", response_schema={"type": "integer"})
    model = ScriptedModel(turns=[made_up, "I wait.", "Thank you."])
    conversation = Conversation(LlmAgent(name="clerk", model=model))
    [question, *_] = await conversation.say("go")
    answered = answer_to(question, {"result": "some"})
    answered.parts = [*(answered.parts or []), types.Part(text="Some.")]
    [thanks] = await conversation.say(answered)
    assert thanks.text() == "Thank you."


async def test_a_node_that_reruns_asks_the_same_question_once() -> None:
    ran = 0

    def ask(ctx: NodeContext) -> Any:
        nonlocal ran
        ran += 1
        if not ctx.resume_inputs:
            return RequestInput(message="Which?")
        return next(iter(ctx.resume_inputs.values()))

    conversation = Conversation(Workflow(name="flow", edges=[("START", node(ask, rerun_on_resume=True))]))
    [question] = await conversation.say("go")
    assert await conversation.say("Hello?", invocation_id=question.invocation_id) == []
    assert ran == 1
    assert ends(await conversation.say(answer_to(question, {"result": "this"}))) == {"flow@1/ask@1": "this"}
    assert ran == 2


async def test_a_node_asks_one_question_after_another_and_repeats_open_ones() -> None:
    def ask(ctx: NodeContext) -> Any:
        given = list(ctx.resume_inputs.values())
        if len(given) < 3:
            # Twice the same question, then another one: the id tells them apart.
            return RequestInput(message="Next item?" if len(given) < 2 else "Which colour?")
        return given

    async def both() -> Any:
        yield RequestInput(message="Who?")
        yield RequestInput(message="Who?")
        yield RequestInput(message="When?", payload=(1, None))

    rerun = node(ask, rerun_on_resume=True)
    conversation = Conversation(Workflow(name="flow", edges=[("START", rerun)]))
    events = await conversation.say("go")
    for item in ("pen", "ink", "blue"):
        events = await conversation.say(answer_to(events[-1], {"result": item}))
    assert ends(events) == {"flow@1/ask@1": ["pen", "ink", "blue"]}
    questions = {
        call.id for event in (await conversation.session()).events for call in event.get_function_calls()
    }
    assert len(questions) == 3

    conversation = Conversation(Workflow(name="flow", edges=[("START", node(both, rerun_on_resume=True))]))
    first, _, third = await conversation.say("go")
    # The answered question is asked again, and the open ones are not.
    [again] = await conversation.say(answer_to(first, {"result": "Ada"}))
    [asked] = again.get_function_calls()
    assert asked.args is not None and asked.args["message"] == "Who?"
    assert again.long_running_tool_ids != first.long_running_tool_ids
    [asked] = third.get_function_calls()
    assert asked.args is not None and asked.args["payload"] == [1, None]


async def test_a_question_in_a_loop_is_asked_in_each_round() -> None:
    def ask(n: int = 0) -> RequestInput:
        return RequestInput(interrupt_id="same", message=f"Round {n}?")

    def decide(node_input: str) -> Event:
        return Event(output=node_input, route=node_input)

    def accept() -> str:
        return "accepted"

    conversation = Conversation(
        Workflow(name="flow", edges=[("START", ask, decide, {"no": ask, "yes": accept})])
    )
    [question] = await conversation.say("go")
    question = (await conversation.say(answer_to(question, {"result": "no"})))[-1]
    events = await conversation.say(answer_to(question, {"result": "yes"}))
    assert list(ends(events)) == ["flow@1/ask@2", "flow@1/decide@2", "flow@1/accept@1"]


async def test_a_workflow_in_a_loop_agent_begins_anew_in_each_round() -> None:
    def step() -> str:
        return "step"

    loop = LoopAgent(
        name="loop", max_iterations=2, sub_agents=[Workflow(name="flow", edges=[("START", step)])]
    )
    events = await Conversation(loop).say("go")
    assert list(ends(events)) == ["flow@1/step@1", "flow@2/step@1"]


async def test_a_changed_graph_goes_on_with_what_still_fits() -> None:
    def make(names: str) -> Callable[[Process], BaseAgent]:
        def build(process: Process) -> BaseAgent:
            def step(name: str) -> Any:
                def run() -> str:
                    process.note(name)
                    return name

                return node(run, name=name)

            return Workflow(name="flow", edges=[("START", *(step(name) for name in names))])

        return build

    log = (await (await uninterrupted(make("abc"))).session()).events
    process = await Process(make("axc"), log[:3]).start()  # `a` and `b` have ended
    await process.send(invocation_id=log[0].invocation_id)
    assert process.ran == ["x", "c"]


async def test_a_hundred_pauses_take_as_many_events_each_and_little_more_work() -> None:
    def ask(n: int = 0) -> RequestInput:
        return RequestInput(message=f"{n}?")

    def on(ctx: NodeContext, n: int = 0) -> Event:
        return Event(state={"n": n + 1}, route="again" if n < 100 else "end")

    conversation = Conversation(Workflow(name="flow", edges=[("START", ask, on, {"again": ask})]))
    question = (await conversation.say("go"))[-1]
    sizes = []
    calls = []
    for _ in range(100):
        message = answer_to(question, {"result": "on"})
        with counted_calls() as counted:
            events = await conversation.say(message)
        question = events[-1]
        sizes.append(sum(len(event.model_dump_json(exclude_none=True)) for event in events))
        calls.append(counted.total())
    assert sizes[-1] <= 1.2 * sizes[0]
    # Each earlier pause, of four events, is read once.
    assert (calls[99] - calls[49]) / 50 < 40


@contextmanager
def counted_calls() -> Generator[Counter[str], None, None]:
    """Count the calls of Python functions in the block, by name."""
    counted: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            counted[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        yield counted
    finally:
        sys.setprofile(None)


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Edges of a graph without circles in which each node is reached."""
    size = draw(st.integers(2, 7))
    edges = [("START", "n0")]
    for number in range(1, size):
        before = draw(st.sets(st.integers(0, number - 1), min_size=1, max_size=3))
        edges += [(f"n{other}", f"n{number}") for other in sorted(before)]
    return edges


ROUNDS = 3


@dataclass(frozen=True)
class Part:
    """Nodes that stand for a node of a random graph: its entry, its exit, and what is between them.

    A part that asks has a question as its output, one that fails fails in its first attempt, one that chooses has two
    ways of which one is followed, and one that repeats runs some rounds.
    """

    entry: Any
    exit: Any
    edges: list[tuple[Any, ...]]


def part_of_graph(name: str, traits: set[str]) -> Part:
    def run(ctx: NodeContext) -> Any:
        if "fails" in traits and ctx.attempt_count == 1:
            raise OSError(name)
        ctx.state[name] = ctx.state.get(name, 0) + 1
        return RequestInput(message=name) if "asks" in traits else name

    def choose(node_input: str) -> Event:
        return Event(output=node_input, route="left" if name < "n3" else "right")

    def repeat(node_input: str, ctx: NodeContext) -> Event:
        return Event(output=node_input, route="again" if ctx.state[name] < ROUNDS else "on")

    def step(suffix: str) -> Any:
        return node(lambda node_input: f"{node_input}{suffix}", name=f"{name}{suffix}")

    entry = node(run, name=name, retry_config=RetryConfig(initial_delay=0, jitter=0))
    last = entry
    edges: list[tuple[Any, ...]] = []
    if "chooses" in traits:
        left = step("_left")
        right = step("_right")
        last = step("_met")
        edges.append((entry, node(choose, name=f"{name}_choose"), {"left": left, "right": right}))
        edges.append(((left, right), last))
    if "repeats" in traits:
        on = step("_on")
        edges.append((last, node(repeat, name=f"{name}_repeat"), {"again": entry, "on": on}))
        last = on
    return Part(entry, last, edges)


TRAITS = st.sets(st.sampled_from(["asks", "fails", "chooses", "repeats"]))


@given(edges=graphs(), traits=st.lists(TRAITS, min_size=7, max_size=7), data=st.data())
@settings(max_examples=40)
def test_an_interrupted_graph_ends_as_an_uninterrupted_one(
    edges: list[tuple[str, str]], traits: list[set[str]], data: st.DataObject
) -> None:
    def make(process: Process) -> BaseAgent:
        names = sorted({other for _, other in edges})
        parts = {name: part_of_graph(name, traits[int(name[1:])]) for name in names}
        # A last node takes in all ends, since a workflow has one output.
        last = JoinNode(name="last")
        flow: list[tuple[Any, ...]] = []
        for name, part in parts.items():
            flow += part.edges
            before = [one for one, other in edges if other == name]
            into = part.entry
            if len(before) > 1:
                into = JoinNode(name=f"{name}_join")
                flow.append((into, part.entry))
            flow += [(parts[one].exit if one in parts else one, into) for one in before]
            if name not in {one for one, _ in edges}:
                flow.append((part.exit, last))
        return Workflow(name="flow", edges=flow)

    async def run() -> None:
        expected = await (await uninterrupted(make)).session()
        assert "flow@1/last@1" in ends(expected.events)
        count = data.draw(st.integers(1, len(expected.events)))
        process = await Process(make, expected.events[:count]).start()
        await process.send(invocation_id=expected.events[0].invocation_id)
        await process.answer_all()
        session = await process.session()
        assert ends(session.events) == ends(expected.events)
        assert session.state == expected.state

    asyncio.run(run())


@pytest.mark.parametrize("count", [10, 100])
async def test_dynamic_nodes_are_read_from_the_log(count: int) -> None:
    def make(process: Process) -> BaseAgent:
        def step(node_input: int) -> int:
            process.note("step")
            return node_input

        async def run_all(ctx: NodeContext) -> int:
            total = 0
            for number in range(count):
                total += await ctx.run_node(step, number)
            return total

        return Workflow(name="flow", edges=[("START", run_all)])

    log = (await (await uninterrupted(make)).session()).events
    process = await Process(make, log[: count // 2 + 1]).start()
    with counted_calls() as counted:
        events = await process.send(invocation_id=log[0].invocation_id)
    assert process.ran == ["step"] * (count - count // 2)
    # Making a node of a function takes longer than an append.
    assert counted["build_node"] == 1
    assert events[-1].output == sum(range(count))


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
async def test_runs_of_one_agent_each_get_their_own_answers(order: list[int]) -> None:
    paid: list[str] = []

    def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return f"paid {to}"

    class Payer(BaseLlm):
        model: str = "payer"

        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            contents = llm_request.contents
            [first] = contents[0].parts or []
            responses = [part.function_response for content in contents for part in content.parts or []]
            last = responses[-1].response if responses[-1] else None
            part = call("pay", "p1", to=first.text) if last is None else types.Part(text=f"{last['result']}")
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    def people() -> list[str]:
        return ["ada", "bob"]

    payer = LlmAgent(name="payer", model=Payer(), tools=[FunctionTool(pay, require_confirmation=True)])
    conversation = Conversation(
        Workflow(name="flow", edges=[("START", people, node(payer, parallel_worker=True))])
    )
    events = await conversation.say("go")
    questions = [event for event in events if event.long_running_tool_ids]
    for number in order:
        events = await conversation.say(answer_to(questions[number], {"confirmed": True}))
    assert sorted(paid) == ["ada", "bob"]
    assert ends(events)["flow@1/payer@1"] == ["paid ada", "paid bob"]


async def test_a_task_agent_asks_the_person_until_it_has_finished() -> None:
    tasks: list[LlmAgent] = []

    def make(process: Process) -> BaseAgent:
        turns = ["Where?", "When?", call("finish_task", "f1", result="Booked.")]
        tasks.append(LlmAgent(name="booker", model=process.writer("booker", *turns).model, mode="task"))

        def show(node_input: dict[str, str]) -> str:
            return node_input["result"]

        return Workflow(name="flow", edges=[("START", tasks[-1], show)])

    expected = (await (await uninterrupted(make)).session()).events
    assert ends(expected) == {"flow@1/booker@1": {"result": "Booked."}, "flow@1/show@1": "Booked."}
    asked = [part.text for content in requests_of(tasks[0])[-1].contents for part in content.parts or []]
    assert asked == ["go", "Where?", "answer to Where?", "When?", "answer to When?"]
    for count in range(1, len(expected) + 1):
        process = await Process(make, expected[:count]).start()
        await process.send(invocation_id=expected[0].invocation_id)
        await process.answer_all()
        assert ends((await process.session()).events) == ends(expected), count


@pytest.mark.parametrize("confirmed", [True, False])
async def test_a_function_runs_after_its_confirmation(confirmed: bool) -> None:
    """Wherever the process dies, the person is asked once, and a refused function does not run."""

    def make(process: Process) -> BaseAgent:
        @node(require_confirmation=lambda amount: amount > 5)
        def refund(amount: int = 9) -> Event:
            process.note("refund")
            return Event(output=f"refunded {amount}", route="paid")

        def mail(node_input: str) -> str:
            return node_input

        return Workflow(name="flow", edges=[("START", refund), (refund, {"paid": mail})])

    async def finish(process: Process) -> list[Event]:
        for call_id in pending_calls((await process.session()).events):
            answer_event = answer((await process.session()).events, call_id)
            for part in answer_event.parts or []:
                if part.function_response:
                    part.function_response.response = {"confirmed": confirmed}
            await process.send(answer_event)
        return (await process.session()).events

    whole = await Process(make).start()
    await whole.send(say("go"))
    expected = await finish(whole)
    [question] = [event for event in expected if event.long_running_tool_ids]
    asked = (question.get_function_calls()[0].args or {})["originalFunctionCall"]
    assert (asked["name"], asked["args"]) == ("refund", {"amount": 9})
    assert ("flow@1/mail@1" in ends(expected)) is confirmed
    assert whole.ran == (["refund"] if confirmed else [])
    for count in range(1, len(expected) + 1):
        process = await Process(make, expected[:count]).start()
        await process.send(invocation_id=expected[0].invocation_id)
        events = await finish(process)
        assert ends(events) == ends(expected), count
        assert len([event for event in events if event.long_running_tool_ids]) == 1


async def test_a_function_that_is_tried_again_is_recorded_as_one_call() -> None:
    tries: list[int] = []

    @node(require_confirmation=lambda: False, retry_config=RetryConfig(initial_delay=0, jitter=0))
    def refund() -> str:
        tries.append(1)
        if len(tries) < 2:
            raise OSError("away")
        return "refunded"

    events = await Conversation(Workflow(name="flow", edges=[("START", refund)])).say("go")
    assert ends(events) == {"flow@1/refund@1": "refunded"}
    assert [call.name for event in events for call in event.get_function_calls()] == ["refund"]


HEADER_KEY = AuthConfig(auth_scheme=APIKey(in_=ApiKeyLocation.HEADER, name="X-Key"))


def function_with_a_credential() -> Any:
    @node(auth_config=HEADER_KEY)
    def fetch(ctx: NodeContext) -> str:
        credential = ctx.get_auth_response(HEADER_KEY)
        assert credential is not None
        return f"fetched with {credential.api_key}"

    return fetch


def tool_with_a_credential() -> Any:
    def fetch(credential: AuthCredential) -> str:
        """Fetch something."""
        return f"fetched with {credential.api_key}"

    return AuthenticatedFunctionTool(func=fetch, auth_config=HEADER_KEY)


def tool_that_asks_for_a_credential() -> Any:
    def fetch(tool_context: Context) -> str | None:
        """Fetch something."""
        credential = tool_context.get_auth_response(HEADER_KEY)
        if credential is None:
            tool_context.request_credential(HEADER_KEY)
            return None
        return f"fetched with {credential.api_key}"

    return FunctionTool(fetch)


@pytest.mark.parametrize(
    "make", [function_with_a_credential, tool_with_a_credential, tool_that_asks_for_a_credential]
)
async def test_a_node_runs_with_the_credential_that_it_asked_for(make: Callable[[], Any]) -> None:
    conversation = Conversation(Workflow(name="flow", edges=[("START", node(make(), name="fetch"))]))
    question = (await conversation.say("go"))[-1]
    given = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k")
    answered = HEADER_KEY.model_copy(update={"exchanged_auth_credential": given})
    events = await conversation.say(answer_to(question, answered.model_dump(mode="json", by_alias=True)))
    assert ends(events) == {"flow@1/fetch@1": "fetched with k"}
    session = await conversation.session()
    assert session.state == {}
