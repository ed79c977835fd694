"""Spec T1, Q4: what a function's signature, type hints and docstring declare to the model."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import functools
import uuid
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from runtime import types
from runtime.context import Context, ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.tools import FunctionTool
from runtime.tools.function_declaration import build_function_declaration

if TYPE_CHECKING:
    from runtime.tools import ToolContext


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Address(BaseModel):
    """Where someone lives."""

    street: str = Field(description="With the house number.")
    floor: int | None = None


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


class Node(BaseModel):
    children: list[Node]


class Pair(enum.Enum):
    BOTH = (1, 2)


class Service:
    pass


ADDRESS = {
    "type": "OBJECT",
    "description": "Where someone lives.",
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
def test_a_type_is_declared_in_the_vocabulary_that_gemini_accepts(
    annotation: Any, expected: dict[str, Any]
) -> None:
    def tool(value):
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
def test_a_parameter_with_a_default_is_not_required_and_says_its_default(
    annotation: Any, default: Any, expected: dict[str, Any]
) -> None:
    def tool(first, value=default):
        pass

    tool.__annotations__ = {"first": str, "value": annotation}
    assert expected.items() <= declared(tool)["value"].items()
    assert build_function_declaration(tool).parameters.required == ["first"]


def test_the_description_is_the_docstring_without_the_section_that_describes_the_parameters() -> None:
    def order(item: str, size: Size, note: str = "") -> str:
        """Order something.

        It is sent at once.

        Args:
            item: What to order,
                by its name.
            size (Size): How big.

        Returns:
            The number of the order.
        """

    declaration = build_function_declaration(order)
    assert declaration.name == "order"
    assert declaration.description == (
        "Order something.\n\nIt is sent at once.\n\nReturns:\n    The number of the order."
    )
    properties = declared(order)
    assert properties["item"]["description"] == "What to order, by its name."
    assert properties["size"]["description"] == "How big."
    assert "description" not in properties["note"]


def test_parameter_descriptions_are_read_from_rest_and_numpy_docstrings_too() -> None:
    def rest(item: str):
        """Order.

        :param item: What to order.
        """

    def numpy(item: str):
        """Order.

        Parameters
        ----------
        item : str
            What to order.
        """

    assert declared(rest)["item"]["description"] == "What to order."
    assert declared(numpy)["item"]["description"] == "What to order."


def test_the_parameter_s_own_text_wins_over_the_docstring_and_the_docstring_over_that_of_the_type() -> None:
    def move(a: Address, b: Address, c: Annotated[datetime.date, "When."]):
        """Move.

        Args:
            b: The new home.
            c: Ignored.
        """

    properties = declared(move)
    assert properties["a"]["description"] == "Where someone lives."
    assert properties["b"]["description"] == "The new home."
    assert properties["c"]["description"] == "When. (format: date)"


def test_a_function_without_parameters_declares_none() -> None:
    def ping(tool_context: ToolContext, **kwargs: Any):
        """Ping."""

    assert build_function_declaration(ping).parameters is None


def test_the_context_is_not_declared_whatever_its_parameter_is_called() -> None:
    def by_name(a: int, tool_context):
        pass

    def by_text(a: int, ctx: ToolContext):
        pass

    def optional_text(a: int, ctx: ToolContext | None = None):
        pass

    def by_class(a: int, ctx):
        pass

    by_class.__annotations__ = {"a": int, "ctx": Context}

    def optional_class(a: int, ctx=None):
        pass

    optional_class.__annotations__ = {"a": int, "ctx": Optional[ReadonlyContext]}  # noqa: UP045
    for tool in (by_name, by_text, optional_text, by_class, optional_class):
        assert list(declared(tool)) == ["a"], tool.__name__


def test_a_callable_object_is_named_after_its_class_and_described_by_itself_or_its_call() -> None:
    class Greeter:
        def __call__(self, name: str) -> str:
            """Greets someone."""

    class Documented:
        """Says hello."""

        def __call__(self, name: str) -> str:
            """Never read."""

    named = Greeter()
    named.__name__ = "greet"
    assert (FunctionTool(Greeter()).name, FunctionTool(Greeter()).description) == (
        "Greeter",
        "Greets someone.",
    )
    assert FunctionTool(Documented()).description == "Says hello."
    assert FunctionTool(named).name == "greet"
    assert list(declared(Greeter())) == ["name"]


def test_a_bound_method_is_declared_without_self() -> None:
    class Shop:
        def sell(self, item: str) -> str:
            """Sell it."""

    assert FunctionTool(Shop().sell).name == "sell"
    assert list(declared(Shop().sell)) == ["item"]


def test_what_a_partial_has_filled_is_not_declared() -> None:
    def fetch(base: str, path: str, token: str = "", page: int = 1):
        """Fetch a page."""

    tool = functools.partial(fetch, "https://shop", token="secret")
    assert FunctionTool(tool).name == "fetch"
    assert FunctionTool(tool).description == "Fetch a page."
    assert list(declared(tool)) == ["path", "page"]


def test_a_decorated_function_is_declared_as_what_it_decorates() -> None:
    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper

    @logged
    def sell(item: str, size: Size):
        """Sell it."""

    assert list(declared(sell)) == ["item", "size"]


def star_args(*items: str):
    pass


def positional_only(item, /):
    pass


def recursive(tree: Node):
    pass


def unknown_class(service: Service):
    pass


def unresolvable(thing: Missing):  # noqa: F821
    pass


async def async_generator(n: int):
    yield n


def generator(n: int):
    yield n


def pairs(value: Pair):
    pass


REFUSED = [
    (star_args, ["'star_args'", "*items", "list"]),
    (positional_only, ["'item'", "'positional_only'", "/"]),
    (recursive, ["'tree'", "'recursive'", "contains itself", "Node > Node"]),
    (unknown_class, ["'service'", "'unknown_class'", "Service"]),
    (unresolvable, ["'thing'", "'unresolvable'", "Missing"]),
    (async_generator, ["'async_generator'", "generator"]),
    (generator, ["'generator'", "generator"]),
    (pairs, ["'value'", "'pairs'", "[1, 2]"]),
    (lambda x: x, ["'<lambda>'", "def"]),
    (dict.update, ["'update'"]),
]


@pytest.mark.parametrize(("function", "words"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_what_cannot_be_declared_is_refused_at_construction_in_a_sentence_that_names_it(
    function: Any, words: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        FunctionTool(function)
    for word in words:
        assert word in str(refusal.value)


def declared(function: Any) -> dict[str, dict[str, Any]]:
    schema = build_function_declaration(function).parameters
    assert schema is not None
    assert schema.type is types.Type.OBJECT
    assert schema.properties is not None
    return {
        name: value.model_dump(mode="json", exclude_none=True) for name, value in schema.properties.items()
    }
