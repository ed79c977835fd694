"""Contract T1, T7, L11, Q2, Q4: calls of a `FunctionTool`."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import datetime
import decimal
import enum
import functools
import sqlite3
import threading
import uuid
from typing import Any, Literal
from unittest.mock import Mock

import pytest
from pydantic import BaseModel

from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.tools import FunctionTool, ToolContext
from runtime.tools.tool_result import as_response


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Line(BaseModel):
    item: str
    count: int = 1


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


CONVERSIONS = [
    (int, 3, 3),
    (int, 3.0, 3),
    (float, 2, 2.0),
    (str, "a", "a"),
    (str, 12, "12"),
    (str | None, 1.5, "1.5"),
    (list[str], ["a", 7], ["a", "7"]),
    (int | str, 12, 12),
    (Any, {"a": [1]}, {"a": [1]}),
    (Size, "large", Size.LARGE),
    (Line, {"item": "tea"}, Line(item="tea")),
    (Line, Line(item="tea"), Line(item="tea")),
    (Line | None, None, None),
    (Line | None, {"item": "tea"}, Line(item="tea")),
    (list[Line], [{"item": "tea", "count": 2}], [Line(item="tea", count=2)]),
    (dict[str, Line], {"a": {"item": "tea"}}, {"a": Line(item="tea")}),
    (Point, {"x": 1}, Point(1.0)),
    (set[int], [1, 1, 2], {1, 2}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (datetime.date, "2026-11-21", datetime.date(2026, 11, 21)),
    (datetime.datetime, "2026-11-21T10:00:00Z", datetime.datetime(2026, 11, 21, 10, tzinfo=datetime.UTC)),
    (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
    (uuid.UUID, "12345678123456781234567812345678", uuid.UUID("12345678123456781234567812345678")),
    (Literal["a", 1], 1, 1),
]


@pytest.mark.parametrize(("annotation", "given", "expected"), CONVERSIONS, ids=lambda value: str(value)[:40])
async def test_arguments_are_converted_to_the_annotated_types(
    annotation: Any, given: Any, expected: Any, context: Context
) -> None:
    async def tool(value: Any) -> Any:
        return value

    tool.__annotations__ = {"value": annotation}
    result = await FunctionTool(tool).run_async(args={"value": given}, tool_context=context)
    assert result == expected
    assert type(result) is type(expected)


WRONG = [
    (int, "many", ["'value'", "integer", "'many'"]),
    (int, None, ["'value'", "integer", "None"]),
    (Size, "huge", ["'value'", "'small' or 'large'", "'huge'"]),
    (list[Line], [{"count": "x"}], ["'value.0.item'", "'value.0.count'"]),
    (datetime.date, "tomorrow", ["'value'", "date", "'tomorrow'"]),
    (list[int], "x" * 500, ["'value'", "list", "…"]),
]


@pytest.mark.parametrize(("annotation", "given", "words"), WRONG, ids=lambda value: str(value)[:40])
async def test_a_wrong_value_is_an_error_response_that_names_the_argument_and_the_type(
    annotation: Any, given: Any, words: list[str], context: Context
) -> None:
    def tool(value: Any) -> None:
        raise AssertionError("called with a wrong value")

    tool.__annotations__ = {"value": annotation}
    result = await FunctionTool(tool).run_async(args={"value": given}, tool_context=context)
    assert list(result) == ["error"]
    for word in words:
        assert word in result["error"]
    assert len(result["error"]) < 300


async def test_missing_arguments_are_an_error_response_that_lists_them_in_signature_order(
    context: Context,
) -> None:
    def tool(zebra: int, given: int, apple: int, tool_context: ToolContext, extra: int = 1) -> None:
        raise AssertionError("called without its arguments")

    result = await FunctionTool(tool).run_async(args={"given": 1}, tool_context=context)
    assert "zebra, apple" in result["error"]
    assert "extra" not in result["error"]


async def test_unknown_arguments_are_dropped(context: Context) -> None:
    def narrow(a: int) -> int:
        return a

    def wide(a: int, **kwargs: Any) -> dict[str, Any]:
        return kwargs

    args = {"a": 1, "b": 2, "tool_context": "forged"}
    assert await FunctionTool(narrow).run_async(args=args, tool_context=context) == 1
    assert await FunctionTool(wide).run_async(args=args, tool_context=context) == {}


async def test_the_result_is_returned_unchanged(context: Context) -> None:
    line = Line(item="tea")
    assert await FunctionTool(return_none).run_async(args={}, tool_context=context) is None
    assert await FunctionTool(functools.partial(give, line)).run_async(args={}, tool_context=context) is line


def return_none() -> None:
    return None


def give(value: Any) -> Any:
    return value


async def test_the_context_is_passed_by_parameter_name_or_by_type(context: Context) -> None:
    def by_name(tool_context: Any) -> Any:
        return tool_context

    def by_type(a: int, ctx: ToolContext) -> ToolContext:
        return ctx

    by_name.__annotations__ = {}
    assert await FunctionTool(by_name).run_async(args={}, tool_context=context) is context
    assert await FunctionTool(by_type).run_async(args={"a": 1}, tool_context=context) is context


async def test_none_is_accepted_for_a_parameter_whose_default_is_none(context: Context) -> None:
    def tool(note: Any = None) -> Any:
        return note

    tool.__annotations__ = {"note": str}
    assert await FunctionTool(tool).run_async(args={"note": None}, tool_context=context) is None


async def test_a_sync_function_runs_in_another_thread_with_the_callers_context_variables(
    context: Context,
) -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")
    user.set("ada")

    def tool() -> tuple[int, str]:
        return threading.get_ident(), user.get()

    thread, name = await FunctionTool(tool).run_async(args={}, tool_context=context)
    assert thread != threading.get_ident()
    assert name == "ada"


async def test_an_async_function_runs_in_the_event_loop(context: Context) -> None:
    async def tool() -> int:
        return threading.get_ident()

    assert await FunctionTool(tool).run_async(args={}, tool_context=context) == threading.get_ident()


async def test_async_code_behind_objects_partials_and_decorators_is_awaited(context: Context) -> None:
    async def double(n: int) -> int:
        return 2 * n

    class Doubler:
        async def __call__(self, n: int) -> int:
            return 2 * n

        async def method(self, n: int) -> int:
            return 2 * n

    @functools.wraps(double)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return double(*args, **kwargs)

    def scale(n: int, by: int) -> int:
        return n * by

    for function in (Doubler(), Doubler().method, decorated, functools.partial(scale, by=2)):
        assert await FunctionTool(function).run_async(args={"n": 4}, tool_context=context) == 8


async def test_an_exception_of_the_function_is_raised_unchanged(context: Context) -> None:
    def tool() -> None:
        raise LookupError("no such order")

    with pytest.raises(LookupError, match="no such order"):
        await FunctionTool(tool).run_async(args={}, tool_context=context)


async def test_state_changes_of_the_function_are_in_the_actions_of_the_call(context: Context) -> None:
    def paint(color: str, tool_context: ToolContext) -> str:
        before: str = tool_context.state["color"]
        tool_context.state["color"] = color
        return before

    assert await FunctionTool(paint).run_async(args={"color": "blue"}, tool_context=context) == "red"
    assert context.actions.state_delta == {"color": "blue"}


def pay(amount: int, currency: str = "EUR") -> str:
    return f"{amount} {currency}"


async def require_always(**kwargs: Any) -> bool:
    return kwargs == {"amount": 5, "currency": "EUR"}


def require_above_limit(amount: int) -> bool:
    return amount > 100


def require_by_state(currency: str, tool_context: ToolContext) -> bool:
    return currency == "EUR" and tool_context.state["color"] == "red"


CONFIRMATIONS = [
    (False, {"amount": 5}, False),
    (True, {"amount": 5}, True),
    (True, {}, False),
    (True, {"amount": "much"}, False),
    (require_always, {"amount": 5}, True),
    (require_above_limit, {"amount": "101"}, True),
    (require_above_limit, {"amount": 100}, False),
    (require_above_limit, {"amount": "much"}, False),
    (require_by_state, {"amount": 1}, True),
    (require_by_state, {"amount": 1, "currency": "USD"}, False),
]


@pytest.mark.parametrize(("require", "args", "expected"), CONFIRMATIONS)
async def test_require_confirmation_decides_on_the_converted_arguments(
    require: Any, args: dict[str, Any], expected: bool, context: Context
) -> None:
    tool = FunctionTool(pay, require_confirmation=require)
    assert await tool.needs_confirmation(args=args, tool_context=context) is expected


async def test_a_function_that_needs_the_thread_of_the_loop_is_marked_and_the_error_names_the_mark(
    context: Context,
) -> None:
    connection = sqlite3.connect(":memory:")

    def count() -> int:
        asyncio.get_running_loop()
        return int(connection.execute("SELECT 7").fetchone()[0])

    def find() -> int:
        return int(connection.execute("SELECT 7").fetchone()[0])

    for function in (count, find):
        tool = FunctionTool(function, runs_on_loop=True)
        assert await tool.run_async(args={}, tool_context=context) == 7
        with pytest.raises(
            ConfigurationError, match=rf"FunctionTool\({function.__name__}, runs_on_loop=True\)"
        ):
            await FunctionTool(function).run_async(args={}, tool_context=context)
    connection.close()


async def test_t1_bytes_are_read_as_they_are_written_in_a_result() -> None:
    def same(data: bytes, more: list[bytes] | None = None) -> dict[str, object]:
        return {"data": data, "more": more}

    tool = FunctionTool(same)
    written = as_response("same", {"data": b"\xff\xfe?>", "more": [b"", b"x"]})
    result = await tool.run_async(args=written, tool_context=Mock())
    assert result == {"data": b"\xff\xfe?>", "more": [b"", b"x"]}
    assert "base64" in (await tool.run_async(args={"data": "no base64!"}, tool_context=Mock()))["error"]
