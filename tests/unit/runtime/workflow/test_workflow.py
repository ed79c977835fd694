"""Running workflows: inputs, outputs, routes, loops, joins, parallel work and nested nodes (contract W1, W2)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from enum import Enum, StrEnum
from typing import Any

import pytest
from pydantic import BaseModel

from runtime import types
from runtime.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from runtime.agents.callback_context import CallbackContext
from runtime.context import InvocationContext
from runtime.errors import ConfigurationError
from runtime.events import Event
from runtime.run_config import RunConfig, StreamingMode
from runtime.sessions.state import StateSchemaError
from runtime.tools import AgentTool, FunctionTool
from runtime.workflow import (
    DEFAULT_ROUTE,
    JoinNode,
    Node,
    NodeContext,
    NodeDataError,
    RetryConfig,
    Workflow,
    node,
)
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, outline


def ended(events: list[Event]) -> dict[str, Any]:
    """Return the outputs of the runs that have ended, by path."""
    return {
        event.node_info.path: event.output
        for event in events
        if event.node_info is not None and event.node_info.has_ended
    }


async def outputs_of(*edges: Any, message: str = "go", **settings: Any) -> dict[str, Any]:
    return ended(await Conversation(Workflow(name="flow", edges=list(edges), **settings)).say(message))


def itself() -> list[Any]:
    """Return a list that contains itself."""
    values: list[Any] = []
    values.append(values)
    return values


async def test_the_output_of_a_node_is_the_input_of_the_next() -> None:
    def first(node_input: str) -> str:
        return f"{node_input}!"

    async def second(node_input: str) -> dict[str, str]:
        return {"text": node_input}

    events = await Conversation(Workflow(name="flow", edges=[("START", first, second)])).say("go")
    assert ended(events) == {"flow@1/first@1": "go!", "flow@1/second@1": {"text": "go!"}}
    assert {event.author for event in events} == {"flow"}


async def test_a_text_of_the_last_node_is_the_answer_to_the_user() -> None:
    def greet(node_input: str) -> str:
        return f"Hello, {node_input}"

    assert outline(await Conversation(Workflow(name="flow", edges=[("START", greet)])).say("Ada")) == [
        "flow: Hello, Ada"
    ]


class Size(Enum):
    SMALL = "small"


class Order(BaseModel):
    number: int
    size: Size


async def test_inputs_and_state_are_converted_to_the_types_of_parameters() -> None:
    seen: list[Any] = []

    def write(ctx: NodeContext) -> dict[str, Any]:
        ctx.state["size"] = "small"
        return {"number": "7", "size": "small"}

    def read(node_input: Order, size: Size, missing: int | None = None, *, other: str = "default") -> None:
        seen.extend([node_input, size, missing, other])

    await outputs_of(("START", write, read))
    assert seen == [Order(number=7, size=Size.SMALL), Size.SMALL, None, "default"]


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda node_input, absent: None, "needs 'absent', which is not in the state"),
        (lambda node_input: object(), "An output must be JSON"),
        (lambda node_input: itself(), "An output must be JSON"),
        (
            lambda node_input: Event(route={"no": 1}),
            "Node 'step' chose the route {'no': 1}. Routes are texts",
        ),
        (lambda node_input: Event(route=[1.5]), "Node 'step' chose the route 1.5. Routes are texts"),
    ],
)
async def test_data_that_does_not_fit_names_the_node(function: Callable[..., Any], problem: str) -> None:
    with pytest.raises(NodeDataError, match=problem):
        await outputs_of(("START", node(function, name="step")))


async def test_a_wrong_input_names_the_parameter() -> None:
    def count(node_input: int) -> int:
        return node_input

    with pytest.raises(NodeDataError, match="'node_input' of node 'count' does not fit: Input should be"):
        await outputs_of(("START", count))


async def test_a_json_message_is_read_as_the_input_schema() -> None:
    def number(node_input: Order) -> int:
        return node_input.number

    flow = Workflow(name="flow", edges=[("START", number)], input_schema=Order)
    assert ended(await Conversation(flow).say('{"number": 5, "size": "small"}')) == {"flow@1/number@1": 5}


async def test_state_and_output_are_committed_in_one_event() -> None:
    def write(ctx: NodeContext) -> str:
        ctx.state["seen"] = [1]
        ctx.route = "on"
        return "written"

    [event] = await Conversation(Workflow(name="flow", edges=[("START", write)])).say("go")
    assert (event.output, event.actions.state_delta, event.actions.route) == ("written", {"seen": [1]}, "on")


async def test_an_event_names_the_runs_whose_output_it_gives() -> None:
    def one() -> str:
        return "1"

    def nothing() -> None: ...

    inner = Workflow(name="inner", edges=[("START", one)], output_schema=int)
    writer = LlmAgent(name="writer", model=ScriptedModel(turns=["two"]))
    flow = Workflow(name="flow", edges=[("START", nothing, inner, writer)])
    events = await Conversation(flow).say("go")
    found = []
    for event in events:
        if event.node_info and event.node_info.has_ended:
            found.append((event.output, event.node_info.path, event.node_info.output_for))
    assert found == [
        (None, "flow@1/nothing@1", None),
        ("1", "flow@1/inner@1/one@1", ["flow@1/inner@1/one@1"]),
        (1, "flow@1/inner@1", ["flow@1/inner@1"]),
        (None, "flow@1/writer@1", ["flow@1/writer@1", "flow@1"]),
    ]


async def test_an_artifact_is_committed_with_the_output() -> None:
    async def write(ctx: NodeContext) -> AsyncGenerator[Any, None]:
        await ctx.save_artifact("notes.txt", types.Part(text="on the way"))
        yield Event(message="half of it")
        await ctx.save_artifact("report.txt", types.Part(text="one"))
        await ctx.save_artifact("report.txt", types.Part(text="two"))
        yield "written"

    events = await Conversation(Workflow(name="flow", edges=[("START", write)])).say("go")
    assert [(event.output, event.actions.artifact_delta) for event in events] == [
        (None, {"notes.txt": 0}),
        ("written", {"report.txt": 1}),
    ]


async def test_a_stored_event_keeps_the_state_that_code_changes_afterwards() -> None:
    async def write(ctx: NodeContext) -> AsyncGenerator[Any, None]:
        ctx.state["seen"] = [1]
        yield Event(message="on the way")
        ctx.state["seen"].append(2)
        yield "written"

    conversation = Conversation(Workflow(name="flow", edges=[("START", write)]))
    await conversation.say("go")
    session = await conversation.session()
    assert [event.actions.state_delta for event in session.events[1:]] == [{"seen": [1]}, {"seen": [1, 2]}]
    assert session.state == {"seen": [1, 2]}


async def test_a_generator_shows_messages_on_the_way_and_has_one_output() -> None:
    async def work(ctx: NodeContext) -> AsyncGenerator[Any, None]:
        yield Event(message="half of it")
        ctx.state["half"] = True
        yield Event(message="nearly done", state={"nearly": True})
        yield "done"

    def sync_work() -> Iterator[Any]:
        yield Event(message="working")
        yield {"total": 3}

    flow = Workflow(name="flow", edges=[("START", work, sync_work)])
    conversation = Conversation(flow)
    events = await conversation.say("go")
    assert outline(events)[:2] == ["flow: half of it", "flow: nearly done"]
    assert events[1].actions.state_delta == {"half": True, "nearly": True}
    assert ended(events) == {"flow@1/work@1": "done", "flow@1/sync_work@1": {"total": 3}}
    assert (await conversation.session()).state == {"half": True, "nearly": True}


class Nothing(Enum):
    VALUE = None


async def test_a_value_that_is_null_as_json_is_no_output_and_leaves_no_event() -> None:
    def work() -> Iterator[Any]:
        yield None
        yield Nothing.VALUE
        yield "done"

    events = await Conversation(Workflow(name="flow", edges=[("START", work)])).say("go")
    assert len(events) == 1 and ended(events) == {"flow@1/work@1": "done"}


async def test_partial_events_of_a_node_are_no_output() -> None:
    def write() -> Iterator[Any]:
        for piece in ("do", "ne"):
            yield Event(partial=True, message=piece, output=piece)
        yield "done"

    events = await Conversation(Workflow(name="flow", edges=[("START", write)])).say("go")
    assert [event.text() for event in events if event.partial] == ["do", "ne"]
    assert ended(events) == {"flow@1/write@1": "done"}


async def test_two_outputs_of_a_node_are_refused() -> None:
    def twice() -> Iterator[int]:
        yield 1
        yield 2

    with pytest.raises(NodeDataError, match="'twice' gave two outputs"):
        await outputs_of(("START", twice))


async def test_a_synchronous_function_runs_in_a_thread_and_an_asynchronous_one_does_not() -> None:
    threads: list[int] = []

    def note() -> None:
        threads.append(threading.get_ident())

    def generate() -> Iterator[str]:
        note()
        yield "generated"

    async def note_on_the_loop() -> None:
        note()

    await outputs_of(("START", note, generate, note_on_the_loop))
    loop = threading.get_ident()
    assert [thread == loop for thread in threads] == [False, False, True]


async def test_routes_choose_what_runs() -> None:
    def choose(node_input: str) -> Event:
        return Event(output=node_input, route=node_input == "yes")

    def left() -> str:
        return "left"

    def right() -> str:
        return "right"

    edges = ("START", choose, {True: left, False: right})
    assert "flow@1/left@1" in await outputs_of(edges, message="yes")
    assert "flow@1/right@1" in await outputs_of(edges, message="no")


class Way(StrEnum):
    ON = "on"


@pytest.mark.parametrize("key", [Way.ON, "on"])
@pytest.mark.parametrize("route", [Way.ON, (Way.ON, "other")])
async def test_members_of_an_enum_are_routes_as_their_values(key: str, route: Any) -> None:
    edges = ("START", node(lambda: Event(route=route), name="choose"), {key: node(lambda: "on", name="on")})
    assert "flow@1/on@1" in await outputs_of(edges)


async def test_a_loop_runs_until_its_route_ends_it() -> None:
    def count(ctx: NodeContext, n: int = 0) -> Event:
        return Event(output=n, state={"n": n + 1}, route="again" if n < 3 else "done")

    def finish(node_input: int) -> str:
        return f"after {node_input}"

    outputs = await outputs_of(("START", count, {"again": count, "done": finish}))
    assert list(outputs) == [*(f"flow@1/count@{number}" for number in range(1, 5)), "flow@1/finish@1"]
    assert outputs["flow@1/finish@1"] == "after 3"


async def test_nodes_that_fan_out_run_at_once_and_a_join_waits_for_all() -> None:
    both = asyncio.Barrier(2)

    async def left() -> str:
        await both.wait()
        return "l"

    async def right() -> str:
        await both.wait()
        return "r"

    def show(node_input: dict[str, str]) -> list[tuple[str, str]]:
        return sorted(node_input.items())

    join = JoinNode(name="join")
    events = await Conversation(Workflow(name="flow", edges=[("START", (left, right), join, show)])).say("go")
    outputs = ended(events)
    assert outputs["flow@1/join@1"] == {"left": "l", "right": "r"}
    assert outputs["flow@1/show@1"] == [["left", "l"], ["right", "r"]]
    assert {event.branch for event in events} == {"flow.left@1", "flow.right@1", None}


async def test_a_join_in_a_loop_fires_once_per_round() -> None:
    def begin(n: int = 0) -> Event:
        return Event(output=n, state={"n": n + 1})

    def one(node_input: int) -> int:
        return node_input + 1

    def two(node_input: int) -> int:
        return node_input + 2

    def again(node_input: dict[str, int]) -> Event:
        return Event(output=node_input, route="again" if node_input["one"] < 3 else "end")

    join = JoinNode(name="join")
    outputs = await outputs_of(("START", begin, (one, two), join, again), (again, {"again": begin}))
    assert [value for path, value in outputs.items() if "/join@" in path] == [
        {"one": 1, "two": 2},
        {"one": 2, "two": 3},
        {"one": 3, "two": 4},
    ]


async def test_max_concurrency_limits_the_nodes_at_once() -> None:
    running = 0
    most = 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    nodes = tuple(node(work, name=f"work{number}") for number in range(6))
    await outputs_of(("START", nodes), max_concurrency=2)
    assert most == 2


@pytest.mark.parametrize("are_parallel", [True, False])
async def test_the_second_output_of_a_workflow_is_refused_before_it_is_stored(are_parallel: bool) -> None:
    def one() -> str:
        return "1"

    @node(retry_config=RetryConfig(initial_delay=0))
    def two() -> str:
        ran.append("two")
        return "2"

    def between() -> None:
        return None

    async def run_both(ctx: NodeContext) -> None:
        await ctx.run_node(one)
        await ctx.run_node(two)

    ran: list[str] = []
    edges: list[Any] = [("START", run_both, (one, between)), (between, two)]
    if are_parallel:
        edges = [("START", run_both, (one, two))]
    conversation = Conversation(Workflow(name="flow", edges=edges))
    with pytest.raises(ConfigurationError, match=r"of the nodes 'one' and 'two'.*JoinNode"):
        await conversation.say("go")
    ends = ended((await conversation.session()).events)
    assert ends["flow@1/one@1"] == "1" and "flow@1/two@1" not in ends
    assert ran == ["two", "two"]  # once by `run_both`, and not tried again


async def test_an_agent_gets_the_input_as_its_message_and_gives_its_answer() -> None:
    writer = LlmAgent(name="writer", model=ScriptedModel(turns=["A poem about rain."]), instruction="Write.")

    def subject(node_input: str) -> dict[str, str]:
        return {"subject": node_input}

    def shout(node_input: str) -> str:
        return node_input.upper()

    flow = Workflow(name="flow", edges=[("START", subject, writer, shout)])
    events = await Conversation(flow).say("rain")
    assert ended(events) == {
        "flow@1/subject@1": {"subject": "rain"},
        "flow@1/writer@1": None,  # its message is its output, and stored once
        "flow@1/shout@1": "A POEM ABOUT RAIN.",
    }
    assert isinstance(writer.model, ScriptedModel)
    [request] = writer.model.requests
    assert [content.parts[0].text for content in request.contents if content.parts] == ['{"subject": "rain"}']


async def test_pieces_of_an_answer_are_no_output_and_a_callback_may_add_to_it() -> None:
    def add(callback_context: CallbackContext) -> types.Content:
        return types.Content(role="model", parts=[types.Part(text="And snow.")])

    writer = LlmAgent(
        name="writer", model=ScriptedModel(turns=["A poem about rain."]), after_agent_callback=add
    )

    def shout(node_input: str) -> str:
        return node_input.upper()

    flow = Workflow(name="flow", edges=[("START", writer, shout)])
    events = await Conversation(flow).say("go", RunConfig(streaming_mode=StreamingMode.SSE))
    pieces = [event for event in events if event.partial]
    assert len(pieces) > 1
    for event in pieces:
        assert event.output is None and event.node_info and not event.node_info.message_as_output
    assert ended(events)["flow@1/shout@1"] == "AND SNOW."


async def test_an_agent_with_an_output_schema_gives_an_object() -> None:
    model = ScriptedModel(turns=['{"number": 3, "size": "small"}'])
    reader = LlmAgent(name="reader", model=model, output_schema=Order)

    def number(node_input: Order) -> int:
        return node_input.number

    outputs = await outputs_of(("START", reader, number))
    assert outputs["flow@1/number@1"] == 3


async def test_an_agent_in_a_loop_begins_anew_in_each_round() -> None:
    model = ScriptedModel(turns=["one", "two", "three"])
    writer = LlmAgent(name="writer", model=model)

    def judge(node_input: str) -> Event:
        return Event(output=f"not {node_input}", route="ok" if node_input == "three" else "again")

    def accept(node_input: str) -> str:
        return node_input

    outputs = await outputs_of(("START", writer, judge, {"again": writer, "ok": accept}))
    assert outputs["flow@1/accept@1"] == "not three"
    assert [
        request.contents[-1].parts[0].text for request in model.requests if request.contents[-1].parts
    ] == [
        "go",
        "not one",
        "not two",
    ]


async def test_an_agent_that_asks_for_the_conversation_sees_what_came_before() -> None:
    first = LlmAgent(name="first", model=ScriptedModel(turns=["First."]))
    model = ScriptedModel(turns=["Second."])
    second = LlmAgent(name="second", model=model, include_contents="default")
    await outputs_of(("START", first, second))
    texts = [part.text or "" for content in model.requests[0].contents for part in content.parts or ()]
    assert texts[0] == "go"
    assert any("First." in text for text in texts[1:])


async def test_an_agent_with_tools_and_a_sequence_are_nodes() -> None:
    def look_up(number: int) -> str:
        """Look up an order."""
        return f"order {number}"

    clerk = LlmAgent(
        name="clerk", model=ScriptedModel(turns=[call("look_up", number=7), "It is there."]), tools=[look_up]
    )
    pair = SequentialAgent(
        name="pair",
        sub_agents=[
            LlmAgent(name="x", model=ScriptedModel(turns=["x says"])),
            LlmAgent(name="y", model=ScriptedModel(turns=["y says"])),
        ],
    )

    def last(node_input: str) -> str:
        return node_input

    outputs = await outputs_of(("START", clerk, pair, last))
    assert outputs["flow@1/last@1"] == "y says"


class Greeter(BaseAgent):
    """Agent of a program, without a model."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        [part] = (ctx.user_content and ctx.user_content.parts) or []
        yield Event(author=self.name, content=types.ModelContent(f"Hello, {part.text}"))


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize(
    ("agent", "messages", "output"),
    [
        (Greeter(name="greeter"), ["Hello, Ada"], "HELLO, ADA"),
        (
            LoopAgent(
                name="loop",
                max_iterations=2,
                sub_agents=[LlmAgent(name="x", model=ScriptedModel(turns=["one", "two"]))],
            ),
            ["one", "two"],
            "TWO",
        ),
        (
            ParallelAgent(name="both", sub_agents=[Greeter(name="greeter"), Greeter(name="other")]),
            ["Hello, Ada", "Hello, Ada"],
            "HELLO, ADA",
        ),
    ],
)
async def test_every_agent_is_a_node(agent: BaseAgent, messages: list[str], output: str) -> None:
    def name() -> str:
        return "Ada"

    def shout(node_input: str) -> str:
        return node_input.upper()

    events = await Conversation(Workflow(name="flow", edges=[("START", name, agent, shout)])).say("go")
    assert [event.text() for event in events if event.text()] == [*messages, output]
    assert ended(events)["flow@1/shout@1"] == output


async def test_a_tool_is_a_node() -> None:
    async def add(a: int, b: int = 1) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    def numbers() -> dict[str, int]:
        return {"a": 2, "b": 3}

    def show(node_input: dict[str, int]) -> str:
        return f"{node_input['sum']}"

    events = await Conversation(
        Workflow(name="flow", edges=[("START", numbers, FunctionTool(add), show)])
    ).say("go")
    assert outline(events)[1:3] == ["add: add()", "add: =add"]
    assert ended(events)["flow@1/show@1"] == "5"


async def test_a_workflow_is_a_node_a_sub_agent_and_a_tool() -> None:
    def make(name: str) -> Workflow:
        def double(node_input: int) -> int:
            return node_input * 2

        return Workflow(name=name, edges=[("START", double)])

    def number(node_input: str) -> int:
        return int(node_input)

    outputs = await outputs_of(("START", number, make("inner")), message="4")
    assert outputs["flow@1/inner@1/double@1"] == 8
    assert outputs["flow@1/inner@1"] == 8
    answer = ScriptedModel(turns=[call("inner", request="5"), "It is ten."])
    asker = LlmAgent(name="asker", model=answer, tools=[AgentTool(make("inner"))])
    assert outline(await Conversation(asker).say("go"))[-1] == "asker: It is ten."
    root = LlmAgent(
        name="root",
        model=ScriptedModel(turns=[call("transfer_to_agent", agent_name="inner")]),
        sub_agents=[make("inner")],
    )
    assert ended(await Conversation(root).say("6")) == {"inner@1/double@1": 12}


async def test_a_copy_of_a_workflow_has_its_graph_and_agents_of_its_own() -> None:
    def double(number: int) -> int:
        return 2 * number

    agent = LlmAgent(name="writer", model=ScriptedModel(turns=["four"]))
    inner = Workflow(name="inner", edges=[("START", node(agent, parallel_worker=True))])
    flow = Workflow(name="flow", edges=[("START", FunctionTool(double), {DEFAULT_ROUTE: inner})])
    copied = flow.clone({"name": "copy"})
    assert copied.get_agent("writer") is not agent
    assert flow.find_agent("writer") is agent
    outputs = ended(await Conversation(copied).say("2"))
    assert outputs["copy@1/double@1"] == 4
    assert outputs["copy@1/inner@1"] == ["four"]


async def test_a_node_may_run_others() -> None:
    def square(node_input: int) -> int:
        return node_input * node_input

    async def sum_of_squares(ctx: NodeContext) -> int:
        first: int = await ctx.run_node(square, 2)
        others: list[int] = await asyncio.gather(*(ctx.run_node(square, number) for number in (3, 4)))
        return first + sum(others)

    assert await outputs_of(("START", sum_of_squares)) == {
        "flow@1/sum_of_squares@1/square@1": 4,
        "flow@1/sum_of_squares@1/square@2": 9,
        "flow@1/sum_of_squares@1/square@3": 16,
        "flow@1/sum_of_squares@1": 29,
    }


async def test_a_parallel_worker_keeps_the_order_of_its_items() -> None:
    async def slow_first(node_input: int) -> int:
        for _ in range(10 - node_input):
            await asyncio.sleep(0)
        return node_input * 10

    def numbers() -> list[int]:
        return [1, 2, 3]

    worker = node(slow_first, parallel_worker=True, max_parallel_workers=2)
    outputs = await outputs_of(("START", numbers, worker))
    assert outputs["flow@1/slow_first@1"] == [10, 20, 30]


async def test_workers_that_are_agents_do_not_mix_their_conversations() -> None:
    class Echo(ScriptedModel):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            from runtime.models.llm_response import LlmResponse

            texts = [part.text for content in llm_request.contents for part in content.parts]
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=f"echo {texts}")]))

    def words() -> list[str]:
        return ["a", "b"]

    echo = LlmAgent(name="echo", model=Echo(turns=[]))
    outputs = await outputs_of(("START", words, node(echo, parallel_worker=True)))
    assert outputs["flow@1/echo@1"] == ["echo ['a']", "echo ['b']"]


async def test_an_agent_at_the_beginning_reads_the_message_alone() -> None:
    model = ScriptedModel(turns=["One.", "Two."])
    flow = Workflow(name="flow", edges=[("START", LlmAgent(name="writer", model=model))])
    conversation = Conversation(flow)
    await conversation.say("first")
    await conversation.say("second")
    texts = [[part.text for part in content.parts or []] for content in model.requests[1].contents]
    assert texts == [["second"]]


async def test_a_content_is_a_message_and_the_output() -> None:
    def write() -> types.Content:
        return types.ModelContent("a message")

    def read(node_input: str) -> str:
        return node_input.upper()

    events = await Conversation(Workflow(name="flow", edges=[("START", write, read)])).say("go")
    assert outline(events) == ["flow: a message", "flow: A MESSAGE"]


async def test_a_second_message_runs_the_workflow_anew() -> None:
    def greet(node_input: str) -> str:
        return f"Hello, {node_input}"

    conversation = Conversation(Workflow(name="flow", edges=[("START", greet)]))
    assert outline(await conversation.say("Ada")) == ["flow: Hello, Ada"]
    assert outline(await conversation.say("Bob")) == ["flow: Hello, Bob"]


class Totals(BaseModel):
    total: int = 0


@pytest.mark.parametrize(("key", "value"), [("total", "many"), ("other", 1)])
async def test_a_write_outside_of_the_state_schema_stores_nothing(key: str, value: Any) -> None:
    def write(ctx: NodeContext) -> str:
        ctx.state[key] = value
        return "written"

    inner = Workflow(name="inner", edges=[("START", write)])
    conversation = Conversation(Workflow(name="flow", edges=[("START", inner)], state_schema=Totals))
    with pytest.raises(StateSchemaError, match=f"'write' writes '{key}'.*Totals"):
        await conversation.say("go")
    assert (await conversation.session()).state == {}


async def test_a_write_on_the_way_is_checked_too() -> None:
    def write() -> Iterator[Any]:
        yield Event(message="half", state={"other": 1})
        yield "done"

    flow = Workflow(name="flow", edges=[("START", write)], state_schema=Totals)
    conversation = Conversation(flow)
    with pytest.raises(StateSchemaError, match="'other'"):
        await conversation.say("go")
    assert "half" not in [event.text() for event in (await conversation.session()).events]


async def test_the_state_schema_allows_its_fields_and_keys_with_a_prefix() -> None:
    def write(ctx: NodeContext) -> str:
        ctx.state.update({"total": 3, "user:name": "Ada"})
        return "written"

    assert await outputs_of(("START", write), state_schema=Totals) == {"flow@1/write@1": "written"}


def test_a_parameter_outside_of_the_state_schema_is_refused_when_the_workflow_is_made() -> None:
    def read(absent: int) -> int:
        return absent

    with pytest.raises(StateSchemaError, match=r"'read' needs 'absent'.*total"):
        Workflow(name="flow", edges=[("START", read)], state_schema=Totals)


class Repeat(Node):
    times: int

    async def run_node_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        yield f"{node_input}" * self.times


async def test_a_subclass_of_node_runs_once_or_for_each_item() -> None:
    def words() -> list[str]:
        return ["a", "b"]

    each = Repeat(name="each", times=2, parallel_worker=True)
    outputs = await outputs_of(("START", words, each, Repeat(name="all", times=1)))
    assert outputs["flow@1/each@1"] == ["aa", "bb"]
    assert outputs["flow@1/all@1"] == "['aa', 'bb']"
    with pytest.raises(ValueError, match="'limited' needs parallel_worker"):
        Repeat(name="limited", times=1, max_parallel_workers=2)


async def test_parameters_may_be_filled_from_the_fields_of_the_input() -> None:
    @node(parameter_binding="node_input")
    def add(a: int, b: int = 4, *, ctx: NodeContext) -> int:
        return a + b

    assert await outputs_of(("START", add), message='{"a": "3"}') == {"flow@1/add@1": 7}
    with pytest.raises(NodeDataError, match="'add' needs 'a', which is not in the input"):
        await outputs_of(("START", add), message="{}")


async def test_a_nested_workflow_gets_the_value_and_no_message() -> None:
    def give() -> dict[str, int]:
        return {"a": 1}

    def kind(node_input: Any) -> str:
        return type(node_input).__name__

    outputs = await outputs_of(("START", give, Workflow(name="inner", edges=[("START", kind)])))
    assert outputs["flow@1/inner@1/kind@1"] == "dict"
