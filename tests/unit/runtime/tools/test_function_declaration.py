"""Contract T1, Q4: the function declaration built from a signature and a docstring."""

from __future__ import annotations

import datetime
import enum
import functools
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest
from pydantic import BaseModel

from runtime.context import Context, ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.tools import FunctionTool
from tests.unit.runtime.tools.declarations import Address, Size, declared

if TYPE_CHECKING:
    from runtime.tools import ToolContext


class Node(BaseModel):
    children: list[Node]


class Pair(enum.Enum):
    BOTH = (1, 2)


class Service:
    pass


def test_the_description_is_the_docstring_without_its_args_section() -> None:
    def order(item: str, size: Size, note: str = "") -> None:
        """Order something.

        It is sent at once.

        Args:
            item: What to order,
                by its name.
            size (Size): How big.

        Returns:
            The number of the order.
        """

    declaration = FunctionTool(order)._get_declaration()
    assert declaration.name == "order"
    assert declaration.description == (
        "Order something.\n\nIt is sent at once.\n\nReturns:\n    The number of the order."
    )
    properties = declared(order)
    assert properties["item"]["description"] == "What to order, by its name."
    assert properties["size"]["description"] == "How big."
    assert "description" not in properties["note"]


def test_parameter_descriptions_are_read_from_rest_and_numpy_docstrings() -> None:
    def rest(item: str) -> None:
        """Order.

        :param item: What to order.
        """

    def numpy(item: str) -> None:
        """Order.

        Parameters
        ----------
        item : str
            What to order.
        """

    assert declared(rest)["item"]["description"] == "What to order."
    assert declared(numpy)["item"]["description"] == "What to order."


def test_a_description_in_the_annotation_wins_over_the_docstring_and_that_over_the_type() -> None:
    def move(a: Address, b: Address, c: Annotated[datetime.date, "When."]) -> None:
        """Move.

        Args:
            b: The new home.
            c: Ignored.
        """

    properties = declared(move)
    assert properties["a"]["description"] == "A postal address."
    assert properties["b"]["description"] == "The new home."
    assert properties["c"]["description"] == "When. (format: date)"


def test_a_function_without_parameters_declares_none() -> None:
    def ping(tool_context: ToolContext, **kwargs: Any) -> None:
        """Ping."""

    assert FunctionTool(ping)._get_declaration().parameters is None


def test_the_context_parameter_is_not_declared() -> None:
    def by_name(a: int, tool_context: Any) -> None:
        pass

    by_name.__annotations__ = {"a": int}

    def by_text(a: int, ctx: ToolContext) -> None:
        pass

    def optional_text(a: int, ctx: ToolContext | None = None) -> None:
        pass

    def by_class(a: int, ctx: Any) -> None:
        pass

    by_class.__annotations__ = {"a": int, "ctx": Context}

    def optional_class(a: int, ctx: Any = None) -> None:
        pass

    optional_class.__annotations__ = {"a": int, "ctx": Optional[ReadonlyContext]}  # noqa: UP045
    for tool in (by_name, by_text, optional_text, by_class, optional_class):
        assert list(declared(tool)) == ["a"], tool.__name__


def test_a_callable_object_is_named_after_its_class_and_described_by_its_docstring_or_that_of_call() -> None:
    class Greeter:
        def __call__(self, name: str) -> None:
            """Greets someone."""

    class Documented:
        """Says hello."""

        def __call__(self, name: str) -> None:
            """Never read."""

    named = Greeter()
    vars(named)["__name__"] = "greet"
    assert (FunctionTool(Greeter()).name, FunctionTool(Greeter()).description) == (
        "Greeter",
        "Greets someone.",
    )
    assert FunctionTool(Documented()).description == "Says hello."
    assert FunctionTool(named).name == "greet"
    assert list(declared(Greeter())) == ["name"]


def test_a_bound_method_is_declared_without_self() -> None:
    class Shop:
        def sell(self, item: str) -> None:
            """Sell it."""

    assert FunctionTool(Shop().sell).name == "sell"
    assert list(declared(Shop().sell)) == ["item"]


def test_arguments_filled_by_a_partial_are_not_declared() -> None:
    def fetch(base: str, path: str, token: str = "", page: int = 1) -> None:
        """Fetch a page."""

    tool = functools.partial(fetch, "https://shop", token="secret")
    assert FunctionTool(tool).name == "fetch"
    assert FunctionTool(tool).description == "Fetch a page."
    assert list(declared(tool)) == ["path", "page"]


def test_a_decorated_function_is_declared_like_the_original() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @logged
    def sell(item: str, size: Size) -> None:
        """Sell it."""

    assert list(declared(sell)) == ["item", "size"]


def star_args(base: str, *items: str, **rest: str) -> str:
    return f"{base}{items}{rest}"


def positional_only(item: str, /) -> None:
    pass


def recursive(tree: Node) -> Node:
    return tree


def unknown_class(value: Service) -> Any:
    return value


def unresolvable(value: Any) -> Any:
    return value


unresolvable.__annotations__ = {"value": "Missing"}


def optional_unresolvable(value: Any = None) -> Any:
    return value


optional_unresolvable.__annotations__ = {"value": "Optional[Missing]"}


def builtin_any(value: any) -> Any:  # type: ignore[valid-type]
    return value


async def async_generator(n: int) -> AsyncGenerator[int, None]:
    yield n


def generator(n: int) -> Generator[int, None, None]:
    yield n


def pairs(value: Pair) -> Any:
    return value


REFUSED = [
    (positional_only, ["'item'", "'positional_only'", "/"]),
    (async_generator, ["'async_generator'", "generator"]),
    (generator, ["'generator'", "generator"]),
    (dict.update, ["'update'"]),
]


@pytest.mark.parametrize(("function", "words"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_function_that_a_model_cannot_call_is_refused_at_construction_and_named(
    function: Any, words: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        FunctionTool(function)
    for word in words:
        assert word in str(refusal.value)


UNTYPED = [
    (unknown_class, ["'value'", "'unknown_class'", "Service"]),
    (unresolvable, ["'value'", "'unresolvable'", "Missing"]),
    (optional_unresolvable, ["'value'", "'optional_unresolvable'", "Missing"]),
    (builtin_any, ["'value'", "'builtin_any'", "any"]),
    (pairs, ["'value'", "'pairs'", "[1, 2]"]),
    (lambda value: value, ["'<lambda>'", "def"]),
]


@pytest.mark.parametrize(("function", "words"), UNTYPED, ids=lambda value: getattr(value, "__name__", ""))
async def test_a_type_that_cannot_be_described_is_declared_as_any_value_with_a_warning(
    function: Any, words: list[str], context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    tool = FunctionTool(function)
    [warning] = caplog.messages
    assert all(word in warning for word in words)
    kinds = [kind["type"] for kind in declared(function)["value"]["any_of"]]
    assert kinds == ["STRING", "NUMBER", "BOOLEAN", "OBJECT", "ARRAY"]
    assert await tool.run_async(args={"value": {"a": [1]}}, tool_context=context) == {"a": [1]}


async def test_variable_arguments_are_not_declared_and_stay_empty(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    tool = FunctionTool(star_args)
    [warning] = caplog.messages
    assert "'star_args' takes *items" in warning and "list" in warning
    assert list(declared(star_args)) == ["base"]
    assert await tool.run_async(args={"base": "a", "items": ["b"]}, tool_context=context) == "a(){}"


async def test_a_type_that_contains_itself_is_declared_to_its_first_level_and_converted_to_the_last(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    tool = FunctionTool(recursive)
    [warning] = caplog.messages
    assert all(word in warning for word in ("'tree'", "'recursive'", "contains itself", "Node > Node"))
    assert declared(recursive)["tree"]["properties"]["children"]["items"] == {
        "type": "OBJECT",
        "description": "a Node like the one that holds it",
    }
    tree: dict[str, Any] = {"children": [{"children": [{"children": []}]}]}
    assert await tool.run_async(args={"tree": tree}, tool_context=context) == Node.model_validate(tree)
