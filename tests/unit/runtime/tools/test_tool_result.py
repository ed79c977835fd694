"""Contract Q2, T5: function responses for a tool's results, and long-running tools that do not pause."""

from __future__ import annotations

import dataclasses
import datetime
import math
from typing import Any

import pytest
from pydantic import BaseModel

from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.tools import LongRunningFunctionTool, ToolError
from runtime.tools.base_tool import job_result
from runtime.tools.tool_result import as_response, is_failure


@pytest.mark.parametrize("result", [{"error": None}, {"error": ""}, {"error": "x", "rows": 1}, "error"])
def test_a_result_with_an_empty_error_is_no_failure_of_a_job(result: Any) -> None:
    assert job_result(result) == result


def test_a_result_that_is_only_an_error_is_a_failure_of_a_job() -> None:
    assert job_result({"error": "no"}) == ToolError("no")


class Line(BaseModel):
    item: str


@dataclasses.dataclass
class Point:
    x: int


RESPONSES = [
    ({"a": 1}, {"a": 1}),
    ({}, {}),
    (None, {"result": None}),
    ("text", {"result": "text"}),
    ([1, 2], {"result": [1, 2]}),
    (Line(item="tea"), {"result": {"item": "tea"}}),
    (Point(1), {"result": {"x": 1}}),
    ({"when": datetime.date(2026, 11, 21), 1: {"tea"}}, {"when": "2026-11-21", "1": ["tea"]}),
    ({"share": math.nan}, {"share": "NaN"}),
    (b"\xff", {"result": "_w=="}),
    (ToolError("Too late."), {"status": "error", "error": "Too late."}),
]


@pytest.mark.parametrize(("result", "response"), RESPONSES, ids=lambda value: str(value)[:30])
def test_a_result_becomes_a_dict_of_json_values(result: Any, response: dict[str, Any]) -> None:
    assert as_response("tool", result) == response


def test_a_response_is_a_copy_of_the_result() -> None:
    rows = [1]
    response = as_response("tool", {"rows": rows})
    rows.append(2)
    assert response == {"rows": [1]}


def test_the_error_for_a_result_that_is_not_json_names_the_tool() -> None:
    with pytest.raises(ConfigurationError, match="'connect' returned a dict that is not JSON"):
        as_response("connect", {"socket": object()})


def test_the_error_for_a_result_that_contains_itself_names_the_tool() -> None:
    tree: dict[str, Any] = {}
    tree["tree"] = tree
    with pytest.raises(ConfigurationError, match="'grow' returned a dict that is not JSON"):
        as_response("grow", tree)


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        (ToolError("No."), True),
        ({"status": "error", "error": "No."}, True),
        ({"status": "failed", "reason": "No paper."}, True),
        ({"status": "pending"}, False),
        ({"error": "a report about an error"}, False),
        (None, False),
        ("error", False),
    ],
)
def test_a_tool_error_and_a_dict_with_status_error_or_failed_are_failures(result: Any, failed: bool) -> None:
    assert is_failure(result) is failed


async def test_a_long_running_tool_is_declared_as_such_and_returns_its_first_result(context: Context) -> None:
    def report(topic: str) -> dict[str, str]:
        """Write a report."""
        return {"status": "pending", "topic": topic}

    tool = LongRunningFunctionTool(report)
    assert tool.is_long_running
    assert tool.description == "Write a report."
    assert str(tool._get_declaration().description).startswith("Write a report.\n\nThis runs long")
    assert await tool.run_async(args={"topic": "tea"}, tool_context=context) == {
        "status": "pending",
        "topic": "tea",
    }


async def test_wrong_arguments_of_a_long_running_tool_are_a_failure(
    context: Context,
) -> None:
    def report(topic: str) -> None:
        """Write a report."""

    result = await LongRunningFunctionTool(report).run_async(args={}, tool_context=context)
    assert is_failure(result)
    assert "topic" in result["error"]
