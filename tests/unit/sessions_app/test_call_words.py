"""Words for function calls: tenses, titles with arguments, and hostile values of these."""

from __future__ import annotations

import pytest

from runtime.tools import FunctionTool
from sessions_app.rendering.call_words import describe_call, find_tool, parameter_names, tenses


def look_up(order_id: str, detail: str = "") -> str:
    """Look up an order."""
    return order_id + detail


@pytest.mark.parametrize(
    ("verb", "participle", "past"),
    [
        ("look", "looking", "looked"),
        ("save", "saving", "saved"),
        ("get", "getting", "got"),
        ("write", "writing", "wrote"),
        ("plan", "planning", "planned"),
        ("submit", "submitting", "submitted"),
        ("verify", "verifying", "verified"),
        ("play", None, None),
        ("open", "opening", "opened"),
        ("edit", "editing", "edited"),
        ("fix", "fixing", "fixed"),
        ("show", "showing", "showed"),
        ("cancel", "canceling", "canceled"),
        ("", None, None),
    ],
)
def test_known_verbs_have_tenses(verb: str, participle: str | None, past: str | None) -> None:
    assert tenses(verb) == (participle, past)


def test_a_title_names_arguments() -> None:
    tool = FunctionTool(look_up, title="Look up order {order_id}")
    words = describe_call(tool, "look_up", {"order_id": "1007"})
    assert (words.plain, words.running, words.done) == (
        "Look up order 1007",
        "Looking up order 1007",
        "Looked up order 1007",
    )
    assert words.names_arguments


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "…"),
        ("a\n b", "a b"),
        ("x" * 100, "x" * 60 + "…"),
        ("{order_id}", "{order_id}"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_values_in_a_title_are_short_and_not_templates(value: object, shown: str) -> None:
    tool = FunctionTool(look_up, title="Look up {order_id.__class__} {order_id}")
    assert (
        describe_call(tool, "look_up", {"order_id": value}).plain == f"Look up {{order_id.__class__}} {shown}"
    )


@pytest.mark.parametrize("name", ["", "__class__", "a" * 200, "\u202e", "weather-report"])
def test_a_name_that_is_no_phrase_stays_as_it_is(name: str) -> None:
    words = describe_call(None, name, {})
    assert words.plain == words.running == words.done
    assert not words.names_arguments


def test_tools_are_found_by_app_agent_and_name() -> None:
    tool = find_tool("help_desk", "orders", "order_status")
    assert tool is not None and parameter_names(tool) == ("order_number",)
    assert find_tool("help_desk", "orders", "unknown") is None
    assert find_tool("help_desk", "unknown", "order_status") is None
    assert find_tool("gone", "orders", "order_status") is None
