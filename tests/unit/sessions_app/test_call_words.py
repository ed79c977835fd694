"""Words for function calls: tenses, titles with arguments, and hostile values of these."""

from __future__ import annotations

import pytest
from django.utils.translation import override

from runtime import types
from runtime.tools import BaseTool, FunctionTool, load_artifacts, load_memory
from sessions_app.rendering.call_words import argument_order, describe_call, find_tool, tenses


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
        ("format", "formatting", "formatted"),
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


def test_the_rows_of_tools_that_read_say_what_they_looked_at() -> None:
    files = describe_call(load_artifacts, "load_artifacts", {"artifact_names": ["a.txt", "b.txt"]})
    assert (files.running, files.done) == ("Looking at a.txt, b.txt", "Looked at a.txt, b.txt")
    memory = describe_call(load_memory, "load_memory", {"query": "lamp"})
    assert memory.done == "Looked in earlier chats for “lamp”"
    with override("de"):
        assert (
            describe_call(load_memory, "load_memory", {"query": "x"}).done
            == "In früheren Chats nach „x“ suchen"
        )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "…"),
        ("a\n b", "a b"),
        ("x" * 100, "x" * 60 + "…"),
        ("{order_id}", "{order_id}"),
        ({"a": 1}, "{'a': 1}"),
        (["a.txt", "b.txt"], "a.txt, b.txt"),
    ],
)
def test_values_in_a_title_are_short_and_not_templates(value: object, shown: str) -> None:
    tool = FunctionTool(look_up, title="Look up {order_id.__class__} {order_id}")
    assert (
        describe_call(tool, "look_up", {"order_id": value}).plain == f"Look up {{order_id.__class__}} {shown}"
    )


def order_status(order_id: str) -> str:
    """Look up the status of an order."""
    return order_id


def open_ticket(problem: str) -> str:
    """Open a ticket for a human."""
    return problem


def test_a_name_is_conjugated_only_if_the_description_begins_with_its_verb() -> None:
    assert describe_call(FunctionTool(order_status), "order_status", {}).done == "Order status"
    assert describe_call(FunctionTool(open_ticket), "open_ticket", {}).done == "Opened ticket"


class OddTool(BaseTool):
    """A tool that cannot be declared or hashed."""

    __hash__ = None  # type: ignore[assignment]

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        raise LookupError("no")


def test_a_tool_that_cannot_be_declared_has_no_order() -> None:
    assert argument_order(OddTool(name="odd", description="")) == {} == argument_order(None)


@pytest.mark.parametrize("name", ["", "__class__", "a" * 200, "\u202e", "weather-report"])
def test_a_name_that_is_no_phrase_stays_as_it_is(name: str) -> None:
    words = describe_call(None, name, {})
    assert words.plain == words.running == words.done
    assert not words.names_arguments


def test_tools_are_found_by_app_agent_and_name() -> None:
    tool = find_tool("help_desk", "orders", "order_status")
    assert tool is not None and argument_order(tool) == {"order_number": 0}
    of_toolset = find_tool("help_desk", "help_desk", "search_knowledge")
    words = describe_call(of_toolset, "search_knowledge", {"query": "late returns"})
    assert words.done == "Looked up “late returns” in the documents"
    assert find_tool("help_desk", "orders", "unknown") is None
    assert find_tool("help_desk", "unknown", "order_status") is None
    assert find_tool("gone", "orders", "order_status") is None
