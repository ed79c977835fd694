"""Graph workflows: what nodes get and give, which nodes run, and what people see.

The events of a run are recorded as notes: outputs by path, texts, questions, and exceptions, without an order. The
packages put them into different events.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from google.genai import types
from pydantic import BaseModel

from runtime.agents import LlmAgent, SequentialAgent
from runtime.apps import App
from runtime.events import Event
from runtime.events.request_input import RequestInput
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from runtime.plugins import BasePlugin
from runtime.runners import Runner
from runtime.tools import FunctionTool
from runtime.workflow import DEFAULT_ROUTE, Edge, JoinNode, RetryConfig, Workflow, node
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import World

Message = str | Callable[[Sequence[Event]], types.Content]
"""Text of the person, or a function from the events before to an answer."""
KEY: dict[str, Any] = {"user_id": "ada", "session_id": "graph"}


class Writer(BaseLlm):
    """Answers with its turns, and notes what it was asked."""

    model: str = "writer"
    turns: list[Any] = []
    world: Any = None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        texts = [[part.text for part in content.parts or []] for content in llm_request.contents]
        self.world.note(asked=texts)
        turn = self.turns.pop(0)
        part = types.Part(text=turn) if isinstance(turn, str) else turn
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class Talk:
    """Conversation with a workflow, and what came of it.

    Attributes:
        events: events of the latest message.
    """

    def __init__(self, world: World, workflow: Any, plugins: Sequence[BasePlugin] = ()) -> None:
        app = App(name="shop", root_agent=workflow, plugins=list(plugins))
        self.events: list[Event] = []
        self._world = world
        self._runner = Runner(app=app, session_service=world.sessions)
        self._notes: list[Any] = []

    async def begin(self) -> Talk:
        await self._world.sessions.create_session(app_name="shop", **KEY)
        return self

    async def say(self, message: Message) -> None:
        """Send a message."""
        if callable(message):
            content = message(self.events)
        else:
            content = types.Content(role="user", parts=[types.Part(text=message)])
        self.events = []
        try:
            async for event in self._runner.run_async(**KEY, new_message=content):
                self.events.append(event)
                self._notes += notes_of(event)
        except Exception as error:  # noqa: BLE001  # Any failure is part of the outcome.
            kinds = [kind for kind in type(error).__mro__ if kind.__module__ == "builtins"]
            self._notes.append({"raised": kinds[0].__name__})

    async def rewind(self) -> None:
        """Take back the latest message."""
        invocation_id = self.events[0].invocation_id
        await self._runner.rewind_async(**KEY, rewind_before_invocation_id=invocation_id)

    async def end(self) -> None:
        """Note what came of it."""
        session = await self._world.sessions.get_session(app_name="shop", **KEY)
        asked = {note["asked_at"] for note in self._notes if "asked_at" in note}
        kept = [json.dumps(note, sort_keys=True) for note in self._notes if note.get("path") not in asked]
        self._world.note(seen=sorted(kept), state=dict(session.state) if session else {})


async def run(world: World, workflow: Any, *messages: Message, plugins: Sequence[BasePlugin] = ()) -> None:
    """Send the messages and note what came of them."""
    talk = await Talk(world, workflow, plugins).begin()
    for message in messages:
        await talk.say(message)
    await talk.end()


def notes_of(event: Event) -> list[dict[str, Any]]:
    path = event.node_info.path if event.node_info else ""
    notes: list[dict[str, Any]] = []
    if event.output is not None and not path.endswith("inner@1"):
        notes.append({"path": path, "output": event.output})
    for part in (event.content.parts or []) if event.content and event.author != "user" else []:
        if part.text and part.text != event.output:
            notes.append({"text": part.text})
        if part.function_call and part.function_call.id in (event.long_running_tool_ids or ()):
            notes += _question(path, part.function_call.name or "", part.function_call.args or {})
    return notes


def _question(path: str, name: str, args: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the note of a question. The packages ask for the confirmation of a node by calls of different names."""
    payload = args.get("payload")
    if name == "adk_request_confirmation":
        call = args["originalFunctionCall"]
        return [{"confirm": call["name"], "args": call["args"]}]
    if name == "adk_request_credential":
        return [{"credential": path}]
    if name != "adk_request_input":
        return []
    if isinstance(payload, dict) and "tool_name" in payload:
        return [{"confirm": payload["tool_name"], "args": payload["args"]}]
    return [{"asked_at": path, "question": args.get("message"), "payload": payload}]


def ans(value: Any) -> Message:
    """Return an answer to the first question."""

    def make(events: Sequence[Event]) -> types.Content:
        call = next(call for event in events for call in event.get_function_calls())
        response = value if isinstance(value, dict) else {"result": value}
        part = types.FunctionResponse(id=call.id, name=call.name, response=response)
        return types.Content(role="user", parts=[types.Part(function_response=part)])

    return make


@program
async def chain(world: World) -> None:
    def a(node_input: str) -> Any:
        return node_input + "!"

    def b(node_input: str) -> Any:
        return {"x": node_input}

    await run(world, Workflow(name="w", edges=[("START", a, b)]), "hi")


@program
async def raw_input(world: World) -> None:
    def a(node_input: Any) -> Any:
        return type(node_input).__name__

    await run(world, Workflow(name="w", edges=[("START", a)]), "hi")


@program
async def state_param(world: World) -> None:
    def a(ctx: Any) -> Any:
        ctx.state["k"] = 5
        return 1

    def b(k: int, d: int = 7) -> Any:
        return k + d

    await run(world, Workflow(name="w", edges=[("START", a, b)]), "hi")


@program
async def state_str_coerced(world: World) -> None:
    def a(ctx: Any) -> Any:
        ctx.state["k"] = "5"
        return 1

    def b(k: int) -> Any:
        return k + 1

    await run(world, Workflow(name="w", edges=[("START", a, b)]), "hi")


@program
async def missing_param(world: World) -> None:
    def b(k: int) -> Any:
        return k

    await run(world, Workflow(name="w", edges=[("START", b)]), "hi")


@program
async def route_true(world: World) -> None:
    def a() -> Any:
        return Event(output=1, route=True)

    def b() -> Any:
        return "b"

    def c() -> Any:
        return "c"

    await run(world, Workflow(name="w", edges=[("START", a), (a, {True: b, False: c})]), "hi")


@program
async def route_default(world: World) -> None:
    def a() -> Any:
        return Event(route="zz")

    def b() -> Any:
        return "b"

    def c(node_input: Any) -> Any:
        return f"c {node_input}"

    await run(world, Workflow(name="w", edges=[("START", a), (a, {"x": b, DEFAULT_ROUTE: c})]), "hi")


@program
async def route_none_matches(world: World) -> None:
    def a() -> Any:
        return "out"

    def b() -> Any:
        return "b"

    await run(world, Workflow(name="w", edges=[("START", a), (a, {"x": b})]), "hi")


@program
async def ctx_route(world: World) -> None:
    def a(ctx: Any) -> Any:
        ctx.route = "x"
        return 3

    def b(node_input: int) -> Any:
        return node_input * 2

    await run(world, Workflow(name="w", edges=[("START", a), (a, {"x": b})]), "hi")


@program
async def fan_join(world: World) -> None:
    def a() -> Any:
        return "a"

    def b() -> Any:
        return "b"

    j = JoinNode(name="j")

    def e(node_input: Any) -> Any:
        return sorted(node_input.items())

    await run(world, Workflow(name="w", edges=[("START", (a, b), j, e)]), "hi")


@program
async def fan_no_join(world: World) -> None:
    def a() -> Any:
        return "a"

    def b() -> Any:
        return "b"

    def e(node_input: Any, ctx: Any) -> Any:
        return node_input

    await run(world, Workflow(name="w", edges=[("START", (a, b), e)]), "hi")


@differing_program("The second output of a workflow is refused before it is stored.")
async def two_terminals(world: World) -> None:
    def a() -> Any:
        return "a"

    def b() -> Any:
        return "b"

    await run(world, Workflow(name="w", edges=[("START", (a, b))]), "hi")


@program
async def loop(world: World) -> None:
    def a(ctx: Any) -> Any:
        n = ctx.state.get("n", 0) + 1
        ctx.state["n"] = n
        return Event(output=n, route="again" if n < 3 else "done")

    def b(node_input: int) -> Any:
        return f"end {node_input}"

    await run(world, Workflow(name="w", edges=[("START", a), (a, {"again": a, "done": b})]), "hi")


@program
async def gen_messages(world: World) -> None:
    def a() -> Any:
        yield Event(message="one")
        yield Event(state={"s": 1})
        yield "out"

    def b(node_input: str) -> Any:
        return node_input.upper()

    await run(world, Workflow(name="w", edges=[("START", a, b)]), "hi")


@program
async def none_output(world: World) -> None:
    def a() -> Any:
        return None

    def b(node_input: Any) -> Any:
        return repr(node_input)

    await run(world, Workflow(name="w", edges=[("START", a, b)]), "hi")


class Order(BaseModel):
    n: int
    t: str | None = None


@program
async def model_io(world: World) -> None:
    def a() -> Any:
        return Order(n=3)

    def b(node_input: Order) -> Any:
        return node_input.n

    await run(world, Workflow(name="w", edges=[("START", a, b)]), "hi")


@program
async def wrong_input(world: World) -> None:
    def a() -> Any:
        return "x"

    def b(node_input: int) -> Any:
        return node_input

    await run(world, Workflow(name="w", edges=[("START", a, b)]), "hi")


@program
async def agent_node(world: World) -> None:
    w = LlmAgent(name="writer", model=Writer(world=world, turns=["poem"]))

    def a(node_input: str) -> Any:
        return "about " + node_input

    def b(node_input: str) -> Any:
        return node_input.upper()

    await run(world, Workflow(name="w", edges=[("START", a, w, b)]), "rain")


@program
async def agent_first(world: World) -> None:
    w = LlmAgent(name="writer", model=Writer(world=world, turns=["poem"]))

    def b(node_input: str) -> Any:
        return node_input.upper()

    await run(world, Workflow(name="w", edges=[("START", w, b)]), "rain")


@program
async def two_agents(world: World) -> None:
    w = LlmAgent(name="one", model=Writer(world=world, turns=["first"]))
    v = LlmAgent(name="two", model=Writer(world=world, turns=["second"]))
    await run(world, Workflow(name="w", edges=[("START", w, v)]), "rain")


@program
async def agent_schema(world: World) -> None:
    w = LlmAgent(name="writer", model=Writer(world=world, turns=['{"n": 4}']), output_schema=Order)

    def b(node_input: Order) -> Any:
        return node_input.n

    await run(world, Workflow(name="w", edges=[("START", w, b)]), "rain")


@program
async def agent_output_key(world: World) -> None:
    w = LlmAgent(name="writer", model=Writer(world=world, turns=["poem"]), output_key="p")

    def b(p: str) -> Any:
        return p

    await run(world, Workflow(name="w", edges=[("START", w, b)]), "rain")


@program
async def agent_dict_input(world: World) -> None:
    w = LlmAgent(name="writer", model=Writer(world=world, turns=["poem"]))

    def a() -> Any:
        return {"k": [1, "ä"]}

    await run(world, Workflow(name="w", edges=[("START", a, w)]), "rain")


@program
async def agent_model_input(world: World) -> None:
    w = LlmAgent(name="writer", model=Writer(world=world, turns=["poem"]))

    def a() -> Any:
        return Order(n=3)

    await run(world, Workflow(name="w", edges=[("START", a, w)]), "rain")


@program
async def agent_none_input(world: World) -> None:
    w = LlmAgent(name="writer", model=Writer(world=world, turns=["poem"]))

    def a() -> Any:
        return None

    await run(world, Workflow(name="w", edges=[("START", a, w)]), "rain")


@program
async def agent_loop(world: World) -> None:
    w = LlmAgent(name="writer", model=Writer(world=world, turns=["one", "two"]))

    def j(node_input: str) -> Any:
        return Event(output="not " + node_input, route="ok" if node_input == "two" else "again")

    def e(node_input: str) -> Any:
        return node_input

    await run(world, Workflow(name="w", edges=[("START", w, j), (j, {"again": w, "ok": e})]), "rain")


@program
async def agent_tools(world: World) -> None:
    def add(a: int) -> Any:
        "Add."
        return a + 1

    w = LlmAgent(
        name="writer",
        model=Writer(
            world=world,
            turns=[types.Part(function_call=types.FunctionCall(id="c", name="add", args={"a": 1})), "two"],
        ),
        tools=[add],
    )
    await run(world, Workflow(name="w", edges=[("START", w)]), "rain")


@program
async def tool_node(world: World) -> None:
    def add(a: int, b: int = 1) -> Any:
        "Add."
        return {"sum": a + b}

    def x() -> Any:
        return {"a": 2}

    def y(node_input: Any) -> Any:
        return node_input

    await run(world, Workflow(name="w", edges=[("START", x, FunctionTool(add), y)]), "rain")


@program
async def nested(world: World) -> None:
    def d(node_input: int) -> Any:
        return node_input * 2

    inner = Workflow(name="inner", edges=[("START", d)])

    def n(node_input: str) -> Any:
        return int(node_input)

    def e(node_input: int) -> Any:
        return node_input + 1

    await run(world, Workflow(name="w", edges=[("START", n, inner, e)]), "4")


@program
async def parallel_worker(world: World) -> None:
    def xs() -> Any:
        return [1, 2, 3]

    @node(parallel_worker=True)
    def d(node_input: int) -> Any:
        return node_input * 2

    def e(node_input: Any) -> Any:
        return node_input

    await run(world, Workflow(name="w", edges=[("START", xs, d, e)]), "4")


@program
async def worker_empty(world: World) -> None:
    def xs() -> Any:
        return []

    @node(parallel_worker=True)
    def d(node_input: int) -> Any:
        return node_input * 2

    def e(node_input: Any) -> Any:
        return repr(node_input)

    await run(world, Workflow(name="w", edges=[("START", xs, d, e)]), "4")


@program
async def worker_scalar(world: World) -> None:
    def xs() -> Any:
        return 5

    @node(parallel_worker=True)
    def d(node_input: int) -> Any:
        return node_input * 2

    def e(node_input: Any) -> Any:
        return repr(node_input)

    await run(world, Workflow(name="w", edges=[("START", xs, d, e)]), "4")


@program
async def dynamic(world: World) -> None:
    def sq(node_input: int) -> Any:
        return node_input**2

    @node(rerun_on_resume=True)
    async def a(ctx: Any) -> Any:
        return await ctx.run_node(sq, 2) + await ctx.run_node(sq, 3)

    await run(world, Workflow(name="w", edges=[("START", a)]), "4")


@program
async def ask(world: World) -> None:
    def q(node_input: str) -> Any:
        return RequestInput(message="sure?", payload={"v": node_input})

    def e(node_input: Any) -> Any:
        return {"got": node_input}

    await run(world, Workflow(name="w", edges=[("START", q, e)]), "4", ans("yes"))


@differing_program("The answer to a question is the node's output as it was given.")
async def ask_dict(world: World) -> None:
    def q() -> Any:
        return RequestInput(message="sure?", response_schema=Order)

    def e(node_input: Any) -> Any:
        return {"got": node_input}

    await run(world, Workflow(name="w", edges=[("START", q, e)]), "4", ans({"n": 3}))


@program
async def ask_typed_int(world: World) -> None:
    def q() -> Any:
        return RequestInput(message="n?", response_schema=int)

    def e(node_input: int) -> Any:
        return node_input + 1

    await run(world, Workflow(name="w", edges=[("START", q, e)]), "4", ans(3))


@program
async def ask_two(world: World) -> None:
    def q1() -> Any:
        return RequestInput(interrupt_id="a", message="a?")

    def q2() -> Any:
        return RequestInput(interrupt_id="b", message="b?")

    j = JoinNode(name="j")

    def both(events: Any) -> Any:
        return types.Content(
            role="user",
            parts=[
                types.Part(
                    function_response=types.FunctionResponse(
                        id=i, name="adk_request_input", response={"result": i * 2}
                    )
                )
                for i in "ab"
            ],
        )

    await run(world, Workflow(name="w", edges=[("START", (q1, q2), j)]), "4", both)


@program
async def ask_rerun(world: World) -> None:
    @node(rerun_on_resume=True)
    def q(ctx: Any) -> Any:
        if "a" in ctx.resume_inputs:
            return ctx.resume_inputs["a"]
        return RequestInput(interrupt_id="a", message="a?")

    await run(world, Workflow(name="w", edges=[("START", q)]), "4", ans("ok"))


@program
async def ask_in_loop(world: World) -> None:
    def q() -> Any:
        return RequestInput(message="again?")

    def j(node_input: str) -> Any:
        return Event(output=node_input, route=node_input)

    def e(node_input: Any) -> Any:
        return "end"

    await run(
        world,
        Workflow(name="w", edges=[("START", q, j), (j, {"no": q, "yes": e})]),
        "4",
        ans("no"),
        ans("yes"),
    )


@program
async def retry(world: World) -> None:
    n = []

    @node(retry_config=RetryConfig(initial_delay=0, jitter=0))
    def f(ctx: Any) -> Any:
        n.append(ctx.attempt_count)
        if len(n) < 3:
            raise ValueError("x")
        return n

    await run(world, Workflow(name="w", edges=[("START", f)]), "4")


@program
async def fail(world: World) -> None:
    def f() -> Any:
        raise ValueError("x")

    await run(world, Workflow(name="w", edges=[("START", f)]), "4")


@program
async def second_message(world: World) -> None:
    def a(node_input: str) -> Any:
        return node_input

    await run(world, Workflow(name="w", edges=[("START", a)]), "one", "two")


@program
async def second_message_agent(world: World) -> None:
    w = LlmAgent(name="writer", model=Writer(world=world, turns=["one", "two"]))
    await run(world, Workflow(name="w", edges=[("START", w)]), "hello", "again")


@program
async def input_schema(world: World) -> None:
    def a(node_input: Order) -> Any:
        return node_input.n

    await run(world, Workflow(name="w", edges=[("START", a)], input_schema=Order), '{"n": 9}')


@program
async def json_text_to_model(world: World) -> None:
    def a(node_input: Order) -> Any:
        return node_input.n

    await run(world, Workflow(name="w", edges=[("START", a)]), '{"n": 9}')


@program
async def edge_list_route(world: World) -> None:
    def a() -> Any:
        return Event(output=1, route="y")

    def b(node_input: Any) -> Any:
        return "b"

    na = node(a)
    nb = node(b)
    await run(
        world,
        Workflow(name="w", edges=[("START", na), Edge(from_node=na, to_node=nb, route=["x", "y"])]),
        "x",
    )


@program
async def multi_route(world: World) -> None:
    def a() -> Any:
        return Event(output=1, route=["x", "y"])

    def b(node_input: Any) -> Any:
        return "b"

    def c(node_input: Any) -> Any:
        return None

    await run(world, Workflow(name="w", edges=[("START", a), (a, {"x": b, "y": c})]), "x")


@program
async def event_message_output(world: World) -> None:
    def a() -> Any:
        return Event(message="shown", output={"v": 1})

    def b(node_input: Any) -> Any:
        return node_input

    await run(world, Workflow(name="w", edges=[("START", a, b)]), "x")


@program
async def dataclass_tuple(world: World) -> None:
    def a() -> Any:
        return (1, 2)

    def b(node_input: Any) -> Any:
        return node_input

    await run(world, Workflow(name="w", edges=[("START", a, b)]), "x")


@differing_program("The output of a `SequentialAgent` that is a node is its last message.")
async def sequence_node(world: World) -> None:
    s = SequentialAgent(
        name="seq",
        sub_agents=[
            LlmAgent(name="x", model=Writer(world=world, turns=["x1"])),
            LlmAgent(name="y", model=Writer(world=world, turns=["y1"])),
        ],
    )

    def e(node_input: Any) -> Any:
        return repr(node_input)

    await run(world, Workflow(name="w", edges=[("START", s, e)]), "x")


@program
async def max_conc(world: World) -> None:
    def a() -> Any:
        return "a"

    def b() -> Any:
        return "b"

    j = JoinNode(name="j")
    await run(world, Workflow(name="w", edges=[("START", (a, b), j)], max_concurrency=1), "hi")


@program
async def output_schema(world: World) -> None:
    def a() -> Any:
        return {"n": "3"}

    await run(world, Workflow(name="w", edges=[("START", a)], output_schema=Order), "hi")
