"""Task agents: sub-agents that work for their parent, with `mode` `single_turn` and `task` (contract A11)."""

from __future__ import annotations

from typing import Any

from google.genai import types
from pydantic import BaseModel

from runtime.agents import LlmAgent
from runtime.workflow import Workflow
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.programs.graphs import Writer, run
from tests.side_by_side.world import World


class Booking(BaseModel):
    place: str
    seats: int


class Wish(BaseModel):
    dish: str


def call(name: str, call_id: str = "c1", **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


def done(**args: Any) -> types.Part:
    return call("finish_task", "f1", **args)


def agent(world: World, name: str, *turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=Writer(world=world, turns=list(turns)), **fields)


@program
async def single_turn(world: World) -> None:
    poet = agent(world, "poet", "Roses.", mode="single_turn")
    root = agent(world, "root", call("poet", request="of roses"), "Here.", sub_agents=[poet])
    await run(world, root, "A poem.")


@program
async def single_turn_twice(world: World) -> None:
    poet = agent(world, "poet", "Roses.", "Violets.", mode="single_turn")
    turns = [call("poet", request="of roses"), call("poet", "c2", request="of violets"), "Here."]
    root = agent(world, "root", *turns, sub_agents=[poet])
    await run(world, root, "A poem.")


@program
async def single_turn_input_schema(world: World) -> None:
    cook = agent(world, "cook", "Yum.", mode="single_turn", input_schema=Wish)
    root = agent(world, "root", call("cook", dish="soup"), "Here.", sub_agents=[cook])
    await run(world, root, "Cook.")


@differing_program("The answer of an agent that works for another is its message.")
async def single_turn_output_schema(world: World) -> None:
    booker = agent(
        world, "booker", '{"place": "Roma", "seats": 2}', mode="single_turn", output_schema=Booking
    )
    root = agent(world, "root", call("booker", request="book"), "Here.", sub_agents=[booker])
    await run(world, root, "Book.")


@program
async def single_turn_output_key(world: World) -> None:
    poet = agent(world, "poet", "Roses.", mode="single_turn", output_key="poem")
    root = agent(world, "root", call("poet", request="of roses"), "Here.", sub_agents=[poet])
    await run(world, root, "A poem.")


@program
async def single_turn_with_tool(world: World) -> None:
    def add(a: int) -> int:
        "Add."
        return a + 1

    clerk = agent(world, "clerk", call("add", "t1", a=1), "Two.", mode="single_turn", tools=[add])
    root = agent(world, "root", call("clerk", request="1 + 1"), "Here.", sub_agents=[clerk])
    await run(world, root, "Add.")


@program
async def task_at_once(world: World) -> None:
    booker = agent(world, "booker", done(place="Roma", seats=2), mode="task", output_schema=Booking)
    root = agent(world, "root", call("booker", request="book"), "Booked.", sub_agents=[booker])
    await run(world, root, "Book.")


@program
async def task_default_result(world: World) -> None:
    booker = agent(world, "booker", done(result="Done."), mode="task")
    root = agent(world, "root", call("booker", request="book"), "Booked.", sub_agents=[booker])
    await run(world, root, "Book.")


@program
async def task_plain_result(world: World) -> None:
    booker = agent(world, "booker", done(result=3), mode="task", output_schema=int)
    root = agent(world, "root", call("booker", request="book"), "Booked.", sub_agents=[booker])
    await run(world, root, "Book.")


@program
async def task_talks(world: World) -> None:
    booker = agent(
        world, "booker", "How many?", done(place="Roma", seats=4), mode="task", output_schema=Booking
    )
    root = agent(world, "root", call("booker", request="book"), "Booked.", sub_agents=[booker])
    await run(world, root, "Book.", "Four.")


@program
async def task_talks_then_chat(world: World) -> None:
    booker = agent(world, "booker", "How many?", done(result="4"), mode="task")
    root = agent(world, "root", call("booker", request="book"), "Booked.", "Bye.", sub_agents=[booker])
    await run(world, root, "Book.", "Four.", "Thanks.")


@program
async def task_wrong_result(world: World) -> None:
    turns = [done(place="Roma"), done(place="Roma", seats=4)]
    booker = agent(world, "booker", *turns, mode="task", output_schema=Booking)
    root = agent(world, "root", call("booker", request="book"), "Booked.", sub_agents=[booker])
    await run(world, root, "Book.")


@program
async def task_output_key(world: World) -> None:
    booker = agent(world, "booker", "How many?", done(result="4"), mode="task", output_key="booking")
    root = agent(world, "root", call("booker", request="book"), "Booked.", sub_agents=[booker])
    await run(world, root, "Book.", "Four.")


@differing_program("The result of a task under its `output_key` is validated.")
async def task_converted_output_key(world: World) -> None:
    turn = done(place="Roma", seats="4")
    booker = agent(world, "booker", turn, mode="task", output_schema=Booking, output_key="booking")
    root = agent(world, "root", call("booker", request="book"), "Booked.", sub_agents=[booker])
    await run(world, root, "Book.")


@program
async def two_tasks(world: World) -> None:
    first = agent(world, "first", "First?", done(result="1"), mode="task")
    second = agent(world, "second", "Second?", done(result="2"), mode="task")
    turns = [call("first", request="a"), call("second", "c2", request="b"), "Both."]
    root = agent(world, "root", *turns, sub_agents=[first, second])
    await run(world, root, "go", "one", "two")


@program
async def task_in_task(world: World) -> None:
    inner = agent(world, "inner", "Really?", done(result="deep"), mode="task")
    turns = [call("inner", "c2", request="x"), done(result="outer")]
    outer = agent(world, "outer", *turns, mode="task", sub_agents=[inner])
    root = agent(world, "root", call("outer", request="y"), "End.", sub_agents=[outer])
    await run(world, root, "go", "yes")


@differing_program("An agent that works for a task agent sees its own task only.")
async def single_turn_in_task(world: World) -> None:
    poet = agent(world, "poet", "Roses.", mode="single_turn")
    turns = [call("poet", "c2", request="x"), done(result="outer")]
    outer = agent(world, "outer", *turns, mode="task", sub_agents=[poet])
    root = agent(world, "root", call("outer", request="y"), "End.", sub_agents=[outer])
    await run(world, root, "go")


@differing_program("A task agent that is the root or a node keeps its first message.")
async def root_task(world: World) -> None:
    root = agent(world, "root", "How many?", done(place="Roma", seats=4), mode="task", output_schema=Booking)
    await run(world, root, "Book.", "Four.")


@program
async def task_with_tool(world: World) -> None:
    def look(n: int) -> str:
        "Look."
        return f"table {n}"

    booker = agent(world, "booker", call("look", "t1", n=1), done(result="ok"), mode="task", tools=[look])
    root = agent(world, "root", call("booker", request="book"), "Booked.", sub_agents=[booker])
    await run(world, root, "Book.")


@program
async def single_turn_node(world: World) -> None:
    poet = agent(world, "poet", "Roses.", mode="single_turn")

    def show(node_input: str) -> str:
        return node_input.upper()

    await run(world, Workflow(name="w", edges=[("START", poet, show)]), "go")


@program
async def task_node_at_once(world: World) -> None:
    booker = agent(world, "booker", done(place="Roma", seats=2), mode="task", output_schema=Booking)

    def show(node_input: Booking) -> str:
        return f"{node_input.seats} seats"

    await run(world, Workflow(name="w", edges=[("START", booker, show)]), "go")


@differing_program("A task agent that is a node asks by a question.")
async def task_node_talks(world: World) -> None:
    booker = agent(world, "booker", "How many?", done(result="4"), mode="task")

    def show(node_input: dict[str, str]) -> str:
        return node_input["result"]

    await run(world, Workflow(name="w", edges=[("START", booker, show)]), "go", "four")
