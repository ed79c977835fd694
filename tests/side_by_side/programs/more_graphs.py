"""More workflows: schemas of the state, own nodes, confirmations, dynamic nodes, failures, nesting and questions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.genai import types
from pydantic import BaseModel

from runtime.agents import BaseAgent, LlmAgent
from runtime.events import Event
from runtime.events.request_input import RequestInput
from runtime.plugins import BasePlugin
from runtime.tools import BaseTool, FunctionTool
from runtime.tools.base_toolset import BaseToolset
from runtime.workflow import DEFAULT_ROUTE, Edge, JoinNode, Node, RetryConfig, Workflow, node
from tests.side_by_side.program import program
from tests.side_by_side.programs.graphs import Order, Writer, ans, run
from tests.side_by_side.world import World


def flow(*edges: Any, **fields: Any) -> Workflow:
    return Workflow(name="w", edges=list(edges), **fields)


class Counter(BaseModel):
    n: int = 0
    tag: str = ""


@program
async def state_schema(world: World) -> None:
    def a(ctx: Any) -> Any:
        ctx.state["n"] = 3
        return "a"

    def b(n: int) -> Any:
        return n + 1

    await run(world, flow(("START", a, b), state_schema=Counter), "go")


@program
async def state_schema_wrong_value(world: World) -> None:
    def a(ctx: Any) -> Any:
        ctx.state["n"] = "many"
        return "a"

    await run(world, flow(("START", a), state_schema=Counter), "go")


@program
async def state_schema_unknown_key(world: World) -> None:
    def a(ctx: Any) -> Any:
        ctx.state["other"] = 1
        return "a"

    await run(world, flow(("START", a), state_schema=Counter), "go")


@program
async def state_schema_prefixed_key(world: World) -> None:
    def a(ctx: Any) -> Any:
        ctx.state["user:other"] = 1
        return "a"

    await run(world, flow(("START", a), state_schema=Counter), "go")


@program
async def state_schema_unknown_parameter(world: World) -> None:
    def a(other: int = 0) -> Any:
        return other

    try:
        flow(("START", a), state_schema=Counter)
    except TypeError:
        world.note(refused=True)


@program
async def state_schema_nested(world: World) -> None:
    def a(ctx: Any) -> Any:
        ctx.state["other"] = 1
        return "a"

    inner = Workflow(name="inner", edges=[("START", a)])
    await run(world, flow(("START", inner), state_schema=Counter), "go")


class Shout(Node):
    mark: str = "!"

    async def run_node_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        yield f"{node_input}{self.mark}"


@program
async def own_node(world: World) -> None:
    def a(node_input: str) -> Any:
        return node_input

    await run(world, flow(("START", a, Shout(name="shout", mark="?"))), "hi")


@program
async def own_node_parallel(world: World) -> None:
    def a() -> Any:
        return ["x", "y"]

    def b(node_input: Any) -> Any:
        return node_input

    await run(world, flow(("START", a, Shout(name="shout", parallel_worker=True), b)), "hi")


@program
async def own_node_route(world: World) -> None:
    class Router(Node):
        async def run_node_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
            yield Event(output=node_input, route="left")

    def a() -> Any:
        return 1

    def b(node_input: int) -> Any:
        return f"b {node_input}"

    def c() -> Any:
        return "c"

    router = Router(name="router")
    await run(world, flow(("START", a, router), (router, {"left": b, "right": c})), "hi")


@program
async def own_node_twice_in_a_chain(world: World) -> None:
    def a() -> Any:
        return "x"

    await run(world, flow(("START", a, Shout(name="one"), Shout(name="two"))), "hi")


@program
async def own_node_output_schema(world: World) -> None:
    class Make(Node):
        async def run_node_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
            yield {"n": "4"}

    def b(node_input: Order) -> Any:
        return node_input.n

    await run(world, flow(("START", Make(name="make", output_schema=Order), b)), "hi")


@program
async def own_node_unimplemented(world: World) -> None:
    await run(world, flow(("START", Node(name="empty"))), "hi")


@program
async def input_binding(world: World) -> None:
    def a() -> Any:
        return {"x": 2, "y": "3"}

    @node(parameter_binding="node_input")
    def b(x: int, y: int, z: int = 4) -> Any:
        return x + y + z

    await run(world, flow(("START", a, b)), "hi")


@program
async def input_binding_of_a_model(world: World) -> None:
    def a() -> Any:
        return Order(n=5, t="t")

    @node(parameter_binding="node_input")
    def b(n: int, t: str) -> Any:
        return f"{n}{t}"

    await run(world, flow(("START", a, b)), "hi")


@program
async def input_binding_missing(world: World) -> None:
    def a() -> Any:
        return {"x": 2}

    @node(parameter_binding="node_input")
    def b(x: int, y: int) -> Any:
        return x + y

    await run(world, flow(("START", a, b)), "hi")


@program
async def input_binding_with_context(world: World) -> None:
    def a() -> Any:
        return {"x": 2}

    @node(parameter_binding="node_input")
    def b(x: int, ctx: Any) -> Any:
        ctx.state["seen"] = x
        return x

    await run(world, flow(("START", a, b)), "hi")


@program
async def confirmation_without_need(world: World) -> None:
    @node(require_confirmation=lambda x: x > 5)
    def b(x: int = 1) -> Any:
        return x

    await run(world, flow(("START", b)), "hi")


@program
async def dynamic_gather(world: World) -> None:
    async def sq(node_input: int) -> Any:
        return node_input**2

    @node(rerun_on_resume=True)
    async def a(ctx: Any) -> Any:
        return list(await asyncio.gather(*(ctx.run_node(sq, n) for n in (1, 2, 3))))

    await run(world, flow(("START", a)), "hi")


@program
async def dynamic_agent(world: World) -> None:
    writer = LlmAgent(name="writer", model=Writer(world=world, turns=["poem"]))

    @node(rerun_on_resume=True)
    async def a(ctx: Any) -> Any:
        return await ctx.run_node(writer, "rain")

    await run(world, flow(("START", a)), "hi")


@program
async def dynamic_loop(world: World) -> None:
    def step(node_input: int) -> Any:
        return node_input + 1

    @node(rerun_on_resume=True)
    async def a(ctx: Any) -> Any:
        value = 0
        while value < 3:
            value = await ctx.run_node(step, value)
        return value

    await run(world, flow(("START", a)), "hi")


@program
async def dynamic_in_dynamic(world: World) -> None:
    def leaf(node_input: int) -> Any:
        return node_input * 2

    @node(rerun_on_resume=True)
    async def middle(ctx: Any, node_input: int) -> Any:
        return await ctx.run_node(leaf, node_input) + 1

    @node(rerun_on_resume=True)
    async def a(ctx: Any) -> Any:
        return await ctx.run_node(middle, 5)

    await run(world, flow(("START", a)), "hi")


@program
async def dynamic_named_run(world: World) -> None:
    def leaf(node_input: int) -> Any:
        return node_input * 2

    @node(rerun_on_resume=True)
    async def a(ctx: Any) -> Any:
        return await ctx.run_node(leaf, 5, run_id="first")

    await run(world, flow(("START", a)), "hi")


@program
async def dynamic_question(world: World) -> None:
    def q() -> Any:
        return RequestInput(message="sure?")

    @node(rerun_on_resume=True)
    async def a(ctx: Any) -> Any:
        return f"got {await ctx.run_node(q)}"

    await run(world, flow(("START", a)), "hi", ans("yes"))


@program
async def dynamic_failure_is_caught(world: World) -> None:
    def bad() -> Any:
        raise ValueError("no")

    @node(rerun_on_resume=True)
    async def a(ctx: Any) -> Any:
        try:
            return await ctx.run_node(bad)
        except Exception:  # noqa: BLE001  # The packages raise other exceptions.
            return "caught"

    await run(world, flow(("START", a)), "hi")


@program
async def retry_gives_up(world: World) -> None:
    @node(retry_config=RetryConfig(max_attempts=2, initial_delay=0, jitter=0))
    def f() -> Any:
        raise ValueError("x")

    await run(world, flow(("START", f)), "hi")


@program
async def retry_other_exception(world: World) -> None:
    tries: list[int] = []

    @node(retry_config=RetryConfig(initial_delay=0, jitter=0, exceptions=[KeyError]))
    def f() -> Any:
        tries.append(1)
        raise ValueError("x")

    await run(world, flow(("START", f)), "hi")
    world.note(tries=len(tries))


@program
async def retry_of_the_named_exception(world: World) -> None:
    tries: list[int] = []

    @node(retry_config=RetryConfig(initial_delay=0, jitter=0, exceptions=["ValueError"]))
    def f() -> Any:
        tries.append(1)
        if len(tries) < 2:
            raise ValueError("x")
        return len(tries)

    await run(world, flow(("START", f)), "hi")


@program
async def retry_of_an_async_function(world: World) -> None:
    tries: list[int] = []

    @node(retry_config=RetryConfig(initial_delay=0, jitter=0))
    async def f() -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("x")
        return len(tries)

    await run(world, flow(("START", f)), "hi")


@program
async def timeout(world: World) -> None:
    @node(timeout=0.01)
    async def f() -> Any:
        await asyncio.sleep(5)

    await run(world, flow(("START", f)), "hi")


@program
async def failure_stops_the_siblings(world: World) -> None:
    done: list[str] = []

    async def bad() -> Any:
        raise ValueError("x")

    async def slow() -> Any:
        await asyncio.sleep(5)
        done.append("slow")
        return "slow"

    await run(world, flow(("START", (bad, slow), JoinNode(name="j"))), "hi")
    world.note(done=done)


@program
async def nested_twice(world: World) -> None:
    def d(node_input: Any) -> Any:
        return int(node_input) * 2

    xinner = Workflow(name="xinner", edges=[("START", d)])
    inner = Workflow(name="inner", edges=[("START", xinner)])

    def e(node_input: int) -> Any:
        return node_input + 1

    def n(node_input: str) -> Any:
        return node_input

    await run(world, flow(("START", n, inner, e)), "4")


@program
async def nested_question(world: World) -> None:
    def q() -> Any:
        return RequestInput(message="sure?")

    def e(node_input: Any) -> Any:
        return f"got {node_input}"

    inner = Workflow(name="inner", edges=[("START", q)])
    await run(world, flow(("START", inner, e)), "hi", ans("yes"))


@program
async def nested_state(world: World) -> None:
    def a(ctx: Any) -> Any:
        ctx.state["k"] = 2
        return 1

    inner = Workflow(name="inner", edges=[("START", a)])

    def e(k: int) -> Any:
        return k

    await run(world, flow(("START", inner, e)), "hi")


@program
async def nested_fan_out(world: World) -> None:
    def a() -> Any:
        return 1

    def b() -> Any:
        return 2

    inner = Workflow(name="inner", edges=[("START", (a, b), JoinNode(name="j"))])

    def e(node_input: Any) -> Any:
        return sorted(node_input.values())

    await run(world, flow(("START", inner, e)), "hi")


@program
async def deep_fan(world: World) -> None:
    def a() -> Any:
        return 1

    def b(node_input: int) -> Any:
        return node_input + 1

    def c(node_input: int) -> Any:
        return node_input + 2

    def d(node_input: int) -> Any:
        return node_input + 3

    j = JoinNode(name="j")
    await run(world, flow(("START", a, (b, c, d), j)), "hi")


@program
async def join_in_a_loop(world: World) -> None:
    def begin(n: int = 0) -> Any:
        return Event(output=n, state={"n": n + 1})

    def one(node_input: int) -> Any:
        return node_input

    def two(node_input: int) -> Any:
        return node_input * 10

    def again(node_input: Any) -> Any:
        return Event(output=node_input, route="again" if node_input["one"] < 2 else "end")

    def end(node_input: Any) -> Any:
        return node_input

    j = JoinNode(name="j")
    edges = [("START", begin, (one, two), j, again), (again, {"again": begin, "end": end})]
    await run(world, flow(*edges), "hi")


@program
async def route_number(world: World) -> None:
    def a() -> Any:
        return Event(output=1, route=2)

    def b() -> Any:
        return "b"

    def c() -> Any:
        return "c"

    await run(world, flow(("START", a), (a, {1: b, 2: c})), "hi")


@program
async def route_and_plain_edge(world: World) -> None:
    def a() -> Any:
        return Event(output=1, route="x")

    def b() -> Any:
        return None

    def c(node_input: int) -> Any:
        return f"c {node_input}"

    await run(world, flow(("START", a), (a, {"x": b}), (a, c)), "hi")


@program
async def default_route_unused(world: World) -> None:
    def a() -> Any:
        return Event(output=1, route="x")

    def b() -> Any:
        return "b"

    def c() -> Any:
        return "c"

    await run(world, flow(("START", a), (a, {"x": b, DEFAULT_ROUTE: c})), "hi")


@program
async def false_route(world: World) -> None:
    def a() -> Any:
        return Event(output=1, route=False)

    def b() -> Any:
        return "b"

    def c() -> Any:
        return "c"

    await run(world, flow(("START", a), (a, {True: b, False: c})), "hi")


@program
async def routes_to_several(world: World) -> None:
    def a() -> Any:
        return Event(output=1, route="x")

    def b(node_input: int) -> Any:
        return node_input + 1

    def c(node_input: int) -> Any:
        return node_input + 2

    await run(world, flow(("START", a), (a, {"x": (b, c)}), ((b, c), JoinNode(name="j"))), "hi")


@program
async def edges_as_objects(world: World) -> None:
    def a() -> Any:
        return 1

    def b(node_input: int) -> Any:
        return node_input + 1

    first = node(a)
    second = node(b)
    await run(
        world,
        flow(("START", first), Edge(from_node=first, to_node=second)),
        "hi",
    )


@program
async def refused_graphs(world: World) -> None:
    def a() -> Any:
        return 1

    def b() -> Any:
        return 2

    graphs: dict[str, list[Any]] = {
        "no start": [(a, b)],
        "unreachable": [("START", a), (b, b)],
        "circle": [("START", a, b, a)],
        "two names": [("START", node(a, name="x"), node(b, name="x"))],
        "to start": [("START", a, "START")],
        "route of start": [("START", {"x": a})],
        "twice": [("START", a), ("START", a)],
        "not a node": [("START", 3)],
    }
    for name, edges in graphs.items():
        try:
            flow(*edges)
        except Exception:  # noqa: BLE001  # The packages raise other classes.
            world.note(refused=name)


@program
async def worker_limit(world: World) -> None:
    def xs() -> Any:
        return [1, 2, 3, 4]

    @node(parallel_worker=True, max_parallel_workers=1)
    def d(node_input: int) -> Any:
        return node_input * 2

    def e(node_input: Any) -> Any:
        return node_input

    await run(world, flow(("START", xs, d, e)), "hi")


@program
async def worker_models(world: World) -> None:
    def xs() -> Any:
        return [{"n": 1}, {"n": "2"}]

    @node(parallel_worker=True)
    def d(node_input: Order) -> Any:
        return node_input.n

    def e(node_input: Any) -> Any:
        return node_input

    await run(world, flow(("START", xs, d, e)), "hi")


@program
async def worker_failure(world: World) -> None:
    def xs() -> Any:
        return [1, 0]

    @node(parallel_worker=True)
    def d(node_input: int) -> Any:
        return 1 // node_input

    await run(world, flow(("START", xs, d)), "hi")


@program
async def tool_with_one_parameter(world: World) -> None:
    def double(n: int) -> Any:
        "Double."
        return {"n": n * 2}

    def x() -> Any:
        return {"n": 4}

    def y(node_input: Any) -> Any:
        return node_input["n"]

    await run(world, flow(("START", x, FunctionTool(double), y)), "hi")


class Around(BasePlugin):
    """Notes the nodes that its hooks are called around. It answers `guess`, and changes the result of `double`."""

    def __init__(self, world: World) -> None:
        super().__init__(name="around")
        self.world = world

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: Any) -> None:
        # Here a workflow is an agent, too.
        if agent.name != "w":
            self.world.note(before=agent.name)

    async def after_agent_callback(self, *, agent: BaseAgent, callback_context: Any) -> None:
        if agent.name != "w":
            self.world.note(after=agent.name)

    async def before_tool_callback(self, *, tool: BaseTool, tool_args: Any, tool_context: Any) -> Any:
        self.world.note(before=tool.name, args=dict(tool_args))
        return {"n": 5} if tool.name == "guess" else None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: Any, tool_context: Any, result: Any
    ) -> Any:
        self.world.note(after=tool.name, result=result)
        return {"n": 7} if tool.name == "double" else None

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: Any, tool_context: Any, error: Exception
    ) -> Any:
        return {"n": 9} if tool.name == "fail" else None


@program
async def plugins_around_nodes(world: World) -> None:
    def begin() -> Any:
        return {}

    def guess() -> Any:
        """«Guess.»"""
        raise AssertionError

    def double(n: int) -> Any:
        """«Double.»"""
        return {"n": 2 * n}

    def fail(n: int) -> Any:
        """«Fail.»"""
        raise LookupError(n)

    writer = LlmAgent(name="writer", model=Writer(world=world, turns=["ok"]))
    tools = [FunctionTool(guess), FunctionTool(double), FunctionTool(fail)]
    await run(world, flow(("START", begin, *tools, writer)), "hi", plugins=[Around(world)])


@program
async def a_toolset_is_no_node(world: World) -> None:
    class Empty(BaseToolset):
        async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
            return []

    try:
        flow(("START", Empty()))
    except ValueError:
        world.note(refused=True)


@program
async def agent_instruction_from_state(world: World) -> None:
    writer = LlmAgent(name="writer", model=Writer(world=world, turns=["ok"]), instruction="About {topic}.")

    def a(ctx: Any) -> Any:
        ctx.state["topic"] = "rain"
        return "write"

    def b(node_input: str) -> Any:
        return node_input

    await run(world, flow(("START", a, writer, b)), "hi")


@program
async def agent_route(world: World) -> None:
    writer = LlmAgent(name="writer", model=Writer(world=world, turns=["yes"]))

    def choose(node_input: str) -> Any:
        return Event(output=node_input, route=node_input)

    def b() -> Any:
        return "b"

    def c() -> Any:
        return "c"

    await run(world, flow(("START", writer, choose), (choose, {"yes": b, "no": c})), "hi")


@program
async def three_agents_in_parallel(world: World) -> None:
    def made(name: str) -> LlmAgent:
        return LlmAgent(name=name, model=Writer(world=World(), turns=[f"by {name}"]))

    def e(node_input: Any) -> Any:
        return sorted(node_input.values())

    j = JoinNode(name="j")
    await run(world, flow(("START", (made("x"), made("y"), made("z")), j, e)), "hi")


@program
async def question_with_payload_model(world: World) -> None:
    def q() -> Any:
        return RequestInput(message="ok?", payload={"order": {"n": 1}})

    def e(node_input: Any) -> Any:
        return f"{node_input}"

    await run(world, flow(("START", q, e)), "hi", ans("fine"))


@program
async def question_then_question(world: World) -> None:
    def q1() -> Any:
        return RequestInput(message="one?")

    def q2(node_input: str) -> Any:
        return RequestInput(message=f"two after {node_input}?")

    def e(node_input: str) -> Any:
        return f"end {node_input}"

    await run(world, flow(("START", q1, q2, e)), "hi", ans("x"), ans("y"))


@program
async def question_beside_work(world: World) -> None:
    def q() -> Any:
        return RequestInput(message="one?")

    def work() -> Any:
        return "worked"

    def e(node_input: Any) -> Any:
        return sorted(node_input.items())

    await run(world, flow(("START", (q, work), JoinNode(name="j"), e)), "hi", ans("x"))


@program
async def question_and_state(world: World) -> None:
    def q(ctx: Any) -> Any:
        ctx.state["asked"] = True
        return RequestInput(message="one?")

    def e(node_input: Any, asked: bool) -> Any:
        return f"{node_input} {asked}"

    await run(world, flow(("START", q, e)), "hi", ans("x"))


@program
async def generator_state(world: World) -> None:
    async def a() -> AsyncGenerator[Any, None]:
        yield Event(state={"a": 1})
        yield Event(state={"b": 2})
        yield "out"

    def b(a: int, b: int) -> Any:
        return a + b

    await run(world, flow(("START", a, b)), "hi")


@program
async def sync_generator(world: World) -> None:
    def a() -> Any:
        yield Event(message="one")
        yield 3

    def b(node_input: int) -> Any:
        return node_input

    await run(world, flow(("START", a, b)), "hi")


@program
async def content_output(world: World) -> None:
    def a() -> Any:
        return {"k": [1, {"z": None}]}

    def b(node_input: dict[str, Any]) -> Any:
        return node_input["k"][1]

    await run(world, flow(("START", a, b)), "hi")


@program
async def list_of_models(world: World) -> None:
    def a() -> Any:
        return [{"n": 1}, {"n": "2"}]

    def b(node_input: list[Order]) -> Any:
        return [order.n for order in node_input]

    await run(world, flow(("START", a, b)), "hi")


@program
async def optional_parameter(world: World) -> None:
    def a(k: int | None = None) -> Any:
        return repr(k)

    await run(world, flow(("START", a)), "hi")


@program
async def message_and_state(world: World) -> None:
    def a() -> Any:
        return Event(message="hello", state={"k": 1}, output="o")

    def b(node_input: str, k: int) -> Any:
        return f"{node_input}{k}"

    await run(world, flow(("START", a, b)), "hi")


@program
async def empty_text(world: World) -> None:
    def a() -> Any:
        return ""

    def b(node_input: Any) -> Any:
        return repr(node_input)

    await run(world, flow(("START", a, b)), "hi")


@program
async def falsy_outputs(world: World) -> None:
    def a() -> Any:
        return 0

    def b(node_input: Any) -> Any:
        return [repr(node_input)]

    def c(node_input: Any) -> Any:
        return False

    def d(node_input: Any) -> Any:
        return repr(node_input)

    await run(world, flow(("START", a, b, c, d)), "hi")


@program
async def workflow_input_type(world: World) -> None:
    def a(node_input: list[int]) -> Any:
        return sum(node_input)

    await run(world, flow(("START", a), input_schema=list[int]), "[1, 2, 3]")


@program
async def message_of_several_parts(world: World) -> None:
    def a(node_input: str) -> Any:
        return node_input

    def message(events: Any) -> types.Content:
        return types.Content(role="user", parts=[types.Part(text="one "), types.Part(text="two")])

    await run(world, flow(("START", a)), message)
