"""Declarations of functions of many types, and the values that the functions get."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, Optional, Union

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from runtime.agents import LlmAgent
from runtime.tools import FunctionTool, ToolContext
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import World, call


class Colour(str, Enum):  # noqa: UP042  # the form that most agents use
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    """«Address.»"""

    street: str = Field(description="«Street and number.»")
    city: Optional[str] = None  # noqa: UP045  # the form that most agents use


class Person(BaseModel):
    name: str
    age: int = Field(default=30, ge=0)
    addresses: list[Address] = []


@dataclass
class Point:
    x: int
    y: int = 0


class Size(TypedDict):
    width: int
    height: int


def describe(value: Any) -> Any:
    """Return the value with the name of its type, as a program can note it in both packages."""
    return {"type": type(value).__name__, "value": str(value)}


async def use(world: World, function: Any, **args: Any) -> None:
    """Let a model call the function."""
    tool = FunctionTool(function)
    turns = (call(tool.name, **args), "Done.")
    await world.play(LlmAgent(name="clerk", model=world.model(*turns), tools=[tool]), "Go")


@program
async def plain_types(world: World) -> None:
    def tool(text: str, count: int, ratio: float, flag: bool) -> list[Any]:
        """«Plain.»"""
        return [describe(value) for value in (text, count, ratio, flag)]

    await use(world, tool, text="a", count=1, ratio=0.5, flag=False)


@program
async def defaults(world: World) -> None:
    def tool(
        text: str = "a", count: int = 2, names: list[str] | None = None, colour: str | None = "red"
    ) -> str:
        """«Defaults.»"""
        return f"{text} {count} {names} {colour}"

    await use(world, tool)


@program
async def lists_and_dicts(world: World) -> None:
    def tool(names: list[str], rows: list[list[int]], table: dict[str, str], anything: dict[str, Any]) -> str:
        """«Nested.»"""
        return f"{names} {rows} {table} {anything}"

    await use(world, tool, names=["a"], rows=[[1], [2, 3]], table={"a": "b"}, anything={"a": [1]})


@program
async def bare_lists_and_dicts(world: World) -> None:
    def tool(names: list, table: dict) -> str:  # type: ignore[type-arg]
        """«Bare.»"""
        return f"{names} {table}"

    await use(world, tool, names=["a", 1], table={"a": 1})


@program
async def literals(world: World) -> None:
    def tool(unit: Literal["C", "F"], mode: Literal["fast"] = "fast") -> str:
        """«Literals.»"""
        return f"{unit} {mode}"

    await use(world, tool, unit="C")


@program
async def optional_in_the_old_form(world: World) -> None:
    def tool(unit: Optional[str] = None, count: Optional[int] = 3) -> str:  # noqa: UP045
        """«Optional.»"""
        return f"{unit} {count}"

    await use(world, tool, unit="C")


@program
async def a_union(world: World) -> None:
    def tool(value: Union[int, str]) -> Any:  # noqa: UP007
        """«Union.»"""
        return describe(value)

    await use(world, tool, value="a")


@program
async def no_type_hints(world: World) -> None:
    def tool(value, other=1):  # type: ignore[no-untyped-def]
        """«Untyped.»"""
        return f"{value} {other}"

    await use(world, tool, value="a")


@program
async def a_text_enum(world: World) -> None:
    def tool(colour: Colour = Colour.RED) -> str:
        """«Enum.»"""
        return str(getattr(colour, "value", colour))

    await use(world, tool, colour="blue")


@program
async def a_nested_model(world: World) -> None:
    def tool(person: Person) -> Any:
        """«Nested model.»"""
        return [type(person).__name__, person.name, person.age, [type(a).__name__ for a in person.addresses]]

    await use(world, tool, person={"name": "Ada", "addresses": [{"street": "Main St 1"}]})


@program
async def an_optional_model(world: World) -> None:
    def tool(person: Person | None = None) -> Any:
        """«Optional model.»"""
        return type(person).__name__

    await use(world, tool, person={"name": "Ada"})


@differing_program("An argument is converted to its parameter's type", only_in=("response",))
async def a_model_that_the_arguments_break(world: World) -> None:
    def tool(person: Person) -> str:
        """«Broken model.»"""
        return "never"

    await use(world, tool, person={"age": 3})


@program
async def a_typed_dict(world: World) -> None:
    def tool(size: Size) -> int:
        """«Typed dict.»"""
        return size["width"] * size["height"]

    await use(world, tool, size={"width": 2, "height": 3})


@differing_program("An argument is converted to its parameter's type", only_in=("response",))
async def a_dataclass(world: World) -> None:
    def tool(point: Point) -> Any:
        """«Dataclass.»"""
        return describe(point)

    await use(world, tool, point={"x": 1})


@differing_program("An argument is converted to its parameter's type", only_in=("response", "format"))
async def a_date(world: World) -> None:
    def tool(day: datetime.date) -> Any:
        """«Date.»"""
        return describe(day)

    await use(world, tool, day="2026-11-22")


@differing_program("An argument is converted to its parameter's type", only_in=("response",))
async def a_number_for_a_text(world: World) -> None:
    def tool(text: str) -> Any:
        """«Text.»"""
        return describe(text)

    await use(world, tool, text=5)


@differing_program("An argument is converted to its parameter's type", only_in=("response",))
async def a_text_for_a_number(world: World) -> None:
    def tool(count: int) -> Any:
        """«Number.»"""
        return describe(count)

    await use(world, tool, count="5")


@program
async def a_float_for_an_integer(world: World) -> None:
    def tool(count: int) -> Any:
        """«Number.»"""
        return describe(count)

    await use(world, tool, count=5.0)


@differing_program("An argument is converted to its parameter's type", only_in=("response",))
async def none_for_a_text(world: World) -> None:
    def tool(text: str = "a") -> Any:
        """«Text.»"""
        return describe(text)

    await use(world, tool, text=None)


@program
async def variable_arguments(world: World) -> None:
    def tool(name: str, *args: Any, **kwargs: Any) -> Any:
        """«Variable.»"""
        return {"name": name, "args": list(args), "kwargs": kwargs}

    await use(world, tool, name="a", other=1)


@program
async def a_context_under_another_name(world: World) -> None:
    def tool(name: str, context: ToolContext) -> str:
        """«Context.»"""
        context.state["seen"] = name
        return context.agent_name

    await use(world, tool, name="a")


@program
async def only_a_context(world: World) -> None:
    def tool(tool_context: ToolContext) -> str:
        """«Only a context.»"""
        return tool_context.agent_name

    await use(world, tool)


@differing_program("The `Args` of a docstring describe the parameters", only_in=("tools",))
async def descriptions_of_arguments(world: World) -> None:
    def tool(name: str, count: int = 1) -> str:
        """«Tool.»

        Args:
            name: «The name.»
            count: «How many.»

        Returns:
            «The text.»
        """
        return name * count

    await use(world, tool, name="a")


@program
async def no_docstring(world: World) -> None:
    def tool(name: str) -> str:
        return name

    await use(world, tool, name="a")


@program
async def a_lambda(world: World) -> None:
    tool = lambda name: name  # noqa: E731
    tool.__name__ = "shout"
    await use(world, tool, name="a")


@program
async def a_result_with_dates_and_sets(world: World) -> None:
    def tool() -> dict[str, Any]:
        """«Results.»"""
        return {"tuple": (1, 2), "none": None, "nested": {"list": [{"a": 1}]}, "unicode": "é☃"}

    await use(world, tool)
