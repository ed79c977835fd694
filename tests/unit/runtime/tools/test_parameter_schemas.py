"""Contract T1: parameter schemas for Python types and defaults."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import uuid
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from runtime.tools import FunctionTool
from tests.unit.runtime.tools.declarations import Address, Size, declared


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Person(BaseModel):
    name: str
    addresses: list[Address] = Field(default_factory=list)


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Movie(TypedDict):
    title: str


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


ADDRESS = {
    "type": "OBJECT",
    "description": "A postal address.",
    "properties": {
        "street": {"type": "STRING", "description": "With the house number."},
        "floor": {"type": "INTEGER", "nullable": True},
    },
    "required": ["street"],
}
SCALARS = [{"type": "STRING"}, {"type": "NUMBER"}, {"type": "BOOLEAN"}, {"type": "OBJECT"}]
ANYTHING = {"any_of": [*SCALARS, {"type": "ARRAY", "items": {"any_of": SCALARS}}]}
CAT = {"type": "OBJECT", "properties": {"kind": {"type": "STRING", "enum": ["cat"]}}, "required": ["kind"]}
DOG = {"type": "OBJECT", "properties": {"kind": {"type": "STRING", "enum": ["dog"]}}, "required": ["kind"]}

TYPES = [
    (int, {"type": "INTEGER"}),
    (float, {"type": "NUMBER"}),
    (bool, {"type": "BOOLEAN"}),
    (str, {"type": "STRING"}),
    (bytes, {"type": "STRING", "description": "format: binary"}),
    (datetime.datetime, {"type": "STRING", "format": "date-time"}),
    (datetime.date, {"type": "STRING", "description": "format: date"}),
    (decimal.Decimal, {"type": "STRING", "description": "format: decimal"}),
    (uuid.UUID, {"type": "STRING", "description": "format: uuid"}),
    (Any, ANYTHING),
    (object, ANYTHING),
    (list, {"type": "ARRAY", "items": ANYTHING}),
    (list[int], {"type": "ARRAY", "items": {"type": "INTEGER"}}),
    (list[list[str]], {"type": "ARRAY", "items": {"type": "ARRAY", "items": {"type": "STRING"}}}),
    (set[str], {"type": "ARRAY", "items": {"type": "STRING"}}),
    (tuple[int, ...], {"type": "ARRAY", "items": {"type": "INTEGER"}}),
    (
        tuple[int, int],
        {"type": "ARRAY", "items": {"type": "INTEGER"}, "min_items": 2, "max_items": 2},
    ),
    (
        tuple[int, str],
        {
            "type": "ARRAY",
            "items": {"any_of": [{"type": "INTEGER"}, {"type": "STRING"}]},
            "min_items": 2,
            "max_items": 2,
        },
    ),
    (dict, {"type": "OBJECT"}),
    (dict[str, int], {"type": "OBJECT"}),
    (Optional[int], {"type": "INTEGER", "nullable": True}),  # noqa: UP045
    (int | None, {"type": "INTEGER", "nullable": True}),
    (Union[int, str], {"any_of": [{"type": "INTEGER"}, {"type": "STRING"}]}),  # noqa: UP007
    (
        int | str | None,
        {"any_of": [{"type": "INTEGER", "nullable": True}, {"type": "STRING", "nullable": True}]},
    ),
    (Literal["a", "b"], {"type": "STRING", "enum": ["a", "b"]}),
    (Literal["a"], {"type": "STRING", "enum": ["a"]}),
    (Literal["a", None], {"type": "STRING", "enum": ["a"], "nullable": True}),
    (Literal[1, 2], {"type": "INTEGER", "description": "one of: 1, 2"}),
    (
        Literal["a", 1],
        {"any_of": [{"type": "STRING", "enum": ["a"]}, {"type": "INTEGER", "description": "one of: 1"}]},
    ),
    (Size, {"type": "STRING", "enum": ["small", "large"]}),
    (Level, {"type": "INTEGER", "description": "one of: 1, 2"}),
    (Address, ADDRESS),
    (Address | None, {**ADDRESS, "nullable": True}),
    (list[Address], {"type": "ARRAY", "items": ADDRESS}),
    (
        Person,
        {
            "type": "OBJECT",
            "properties": {"name": {"type": "STRING"}, "addresses": {"type": "ARRAY", "items": ADDRESS}},
            "required": ["name"],
        },
    ),
    (
        Point,
        {
            "type": "OBJECT",
            "properties": {"x": {"type": "NUMBER"}, "y": {"type": "NUMBER", "default": 0.0}},
            "required": ["x"],
        },
    ),
    (Movie, {"type": "OBJECT", "properties": {"title": {"type": "STRING"}}, "required": ["title"]}),
    (Annotated[Cat | Dog, Field(discriminator="kind")], {"any_of": [CAT, DOG]}),
    (Annotated[int, Field(ge=1, le=5)], {"type": "INTEGER", "minimum": 1.0, "maximum": 5.0}),
    (Annotated[str, Field(max_length=3, pattern="^a")], {"type": "STRING", "max_length": 3, "pattern": "^a"}),
    (
        Annotated[list[int], Field(min_length=1)],
        {"type": "ARRAY", "items": {"type": "INTEGER"}, "min_items": 1},
    ),
    (Annotated[int, "How many."], {"type": "INTEGER", "description": "How many."}),
    (Annotated[int, Field(description="How many.")], {"type": "INTEGER", "description": "How many."}),
    (
        Annotated[int | str, "Number or name."],
        {"any_of": [{"type": "INTEGER", "description": "Number or name."}, {"type": "STRING"}]},
    ),
]


@pytest.mark.parametrize(("annotation", "expected"), TYPES, ids=lambda value: str(value)[:40])
def test_a_type_is_declared_in_the_subset_that_gemini_accepts(
    annotation: Any, expected: dict[str, Any]
) -> None:
    def tool(value: Any) -> None:
        pass

    tool.__annotations__ = {"value": annotation}
    assert declared(tool)["value"] == expected


DEFAULTS = [
    (int, 3, {"type": "INTEGER", "default": 3}),
    (bool, False, {"type": "BOOLEAN", "default": False}),
    (Size, Size.LARGE, {"type": "STRING", "enum": ["small", "large"], "default": "large"}),
    (list[int], [1], {"type": "ARRAY", "items": {"type": "INTEGER"}, "default": [1]}),
    (Point, Point(1.0), {"default": {"x": 1.0, "y": 0.0}}),
    (int | None, None, {"type": "INTEGER", "nullable": True}),
    (str, None, {"type": "STRING", "nullable": True}),
    (
        int | str,
        None,
        {"any_of": [{"type": "INTEGER", "nullable": True}, {"type": "STRING", "nullable": True}]},
    ),
    (int | str, 3, {"any_of": [{"type": "INTEGER"}, {"type": "STRING"}]}),
    pytest.param(str, object(), {"type": "STRING"}, id="no JSON"),
]


@pytest.mark.parametrize(("annotation", "default", "expected"), DEFAULTS, ids=lambda value: str(value)[:40])
def test_a_parameter_with_a_default_is_optional_and_declares_the_default(
    annotation: Any, default: Any, expected: dict[str, Any]
) -> None:
    def tool(first: Any, value: Any = default) -> None:
        pass

    tool.__annotations__ = {"first": str, "value": annotation}
    assert expected.items() <= declared(tool)["value"].items()
    parameters = FunctionTool(tool)._get_declaration().parameters
    assert parameters is not None and parameters.required == ["first"]
