"""Function tools: arguments, results, parallel calls, unknown and failing tools."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import Any, Literal

from google.genai import types
from pydantic import BaseModel

from runtime.agents import LlmAgent
from runtime.tools import BaseTool, FunctionTool, ToolContext
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import Turn, World, call


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Order(BaseModel):
    item: str
    amount: int = 1


def price(item: str, amount: int = 1) -> dict[str, Any]:
    """«Price of an item.»"""
    return {"price": 20 * amount, "item": item}


async def stock(item: str) -> str:
    """«Stock of an item.»"""
    await asyncio.sleep(0)
    return f"3 of {item}"


def nothing() -> None:
    """«Do nothing.»"""


def fails(item: str) -> str:
    """«Fail.»"""
    raise LookupError(item)


def echo_types(
    number: int, ratio: float, flag: bool, names: list[str], more: dict[str, int]
) -> dict[str, str]:
    """«Name the types.»"""
    return {key: type(value).__name__ for key, value in locals().items()}


def choose(size: Literal["small", "large"], colour: str | None = None) -> str:
    """«Choose.»"""
    return f"{size} {colour}"


def choose_size(size: Size) -> str:
    """«Choose a size.»"""
    return str(size)


def order(order: Order) -> dict[str, Any]:
    """«Order.»"""
    return {"type": type(order).__name__, "item": order.item, "amount": order.amount}


def order_all(orders: list[Order]) -> list[str]:
    """«Order all.»"""
    return [f"{type(order).__name__} {order.item}" for order in orders]


def give_model() -> Order:
    """«Give a model.»"""
    return Order(item="lamp")


class Till:
    """«A till.»"""

    def __init__(self, rate: int) -> None:
        self.rate = rate

    def convert(self, amount: int) -> int:
        """«Convert an amount.»"""
        return amount * self.rate

    def __call__(self, amount: int) -> int:
        """«Call the till.»"""
        return amount * self.rate


class Ruler(BaseTool):
    def __init__(self) -> None:
        super().__init__(name="ruler", description="«Measure.»")

    def _get_declaration(self) -> types.FunctionDeclaration:
        length = types.Schema(type=types.Type.INTEGER)
        parameters = types.Schema(type=types.Type.OBJECT, properties={"length": length})
        return types.FunctionDeclaration(name=self.name, description=self.description, parameters=parameters)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return {"measured": args, "call": tool_context.function_call_id}


async def clerk(world: World, tools: list[Any], *turns: Turn) -> None:
    """Play one message with these tools and model turns."""
    await world.play(LlmAgent(name="clerk", model=world.model(*turns), tools=tools), "Go")


@program
async def a_text_is_an_answer(world: World) -> None:
    await world.play(LlmAgent(name="clerk", model=world.model("Hello."), instruction="«Be kind.»"), "Hi")


@program
async def a_sync_tool_answers_a_call(world: World) -> None:
    await clerk(world, [price], call("price", item="lamp"), "20 €")


@program
async def an_async_tool_answers_a_call_by_a_text(world: World) -> None:
    await clerk(world, [stock], call("stock", "c1", item="lamp"), "3 lamps")


@program
async def a_tool_without_result(world: World) -> None:
    await clerk(world, [nothing], call("nothing"), "Done.")


@program
async def parallel_calls_are_answered_in_one_event(world: World) -> None:
    await clerk(world, [price, stock], [call("price", item="lamp"), call("stock", item="desk")], "Both.")


@program
async def calls_of_three_steps(world: World) -> None:
    calls = [call("price", item="a"), call("price", item="b"), call("stock", item="c")]
    await clerk(world, [price, stock], *calls, "Done.")


@program
async def a_text_beside_a_call(world: World) -> None:
    await clerk(world, [price], [types.Part(text="Let me see."), call("price", item="lamp")], "20 €")


@program
async def a_thought_beside_a_call(world: World) -> None:
    thought = types.Part(text="Hm.", thought=True)
    await clerk(world, [price], [thought, call("price", item="lamp")], [thought, types.Part(text="20 €")])


@program
async def an_unknown_tool(world: World) -> None:
    await clerk(world, [price], call("no_such_tool", x=1), "Sorry.")


@program
async def an_unknown_tool_beside_a_known_one(world: World) -> None:
    await clerk(world, [price], [call("no_such_tool"), call("price", item="lamp")], "Sorry.")


@program
async def a_call_of_an_agent_without_tools(world: World) -> None:
    await clerk(world, [], call("price", item="lamp"), "Sorry.")


@program
async def a_missing_argument(world: World) -> None:
    await clerk(world, [price], call("price", amount=2), "Sorry.")


@program
async def an_argument_too_many(world: World) -> None:
    await clerk(world, [price], call("price", item="lamp", colour="red"), "20 €")


@program
async def an_optional_argument(world: World) -> None:
    await clerk(
        world, [choose], call("choose", size="small"), call("choose", size="large", colour="red"), "Done."
    )


@program
async def arguments_of_all_types(world: World) -> None:
    good = call("echo_types", number=1, ratio=2.5, flag=True, names=["a"], more={"a": 1})
    await clerk(world, [echo_types], good, "Done.")


@differing_program("An argument is converted to its parameter's type")
async def an_enum_as_an_argument(world: World) -> None:
    await clerk(world, [choose_size], call("choose_size", size="large"), "Done.")


@program
async def a_model_as_an_argument(world: World) -> None:
    await clerk(world, [order], call("order", order={"item": "lamp", "amount": 2}), "Done.")


@program
async def models_in_a_list(world: World) -> None:
    await clerk(world, [order_all], call("order_all", orders=[{"item": "lamp"}, {"item": "desk"}]), "Done.")


@program
async def a_model_as_a_result(world: World) -> None:
    await clerk(world, [give_model], call("give_model"), "Done.")


@program
async def a_method_as_a_tool(world: World) -> None:
    await clerk(world, [Till(3).convert], call("convert", amount=4), "12")


@program
async def a_callable_object_as_a_tool(world: World) -> None:
    await clerk(world, [FunctionTool(Till(3))], call("Till", amount=4), "12")


@program
async def a_tool_class_of_ones_own(world: World) -> None:
    await clerk(world, [Ruler()], call("ruler", "c1", length=4), "4")


@program
async def a_tool_that_raises(world: World) -> None:
    await clerk(world, [fails], call("fails", item="x"), "Sorry.")


@program
async def a_result_of_zero_and_an_empty_list(world: World) -> None:
    def zero() -> int:
        return 0

    def empty() -> list[str]:
        return []

    await clerk(world, [zero, empty], [call("zero"), call("empty")], "Done.")


@differing_program("An id that a model gives to two calls of one response")
async def one_id_for_two_calls(world: World) -> None:
    await clerk(world, [price], [call("price", "c1", item="a"), call("price", "c1", item="b")], "Done.")


@program
async def an_id_that_comes_again_in_a_later_step(world: World) -> None:
    await clerk(world, [price], call("price", "c1", item="a"), call("price", "c1", item="b"), "Done.")


@program
async def an_id_that_comes_again_in_a_later_invocation(world: World) -> None:
    model = world.model(call("price", "c1", item="a"), "One.", call("price", "c1", item="b"), "Two.")
    await world.play(LlmAgent(name="clerk", model=model, tools=[price]), "First", "Second")
