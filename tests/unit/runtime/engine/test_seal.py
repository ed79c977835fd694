"""Seals: error responses to calls that a cancellation left open (contract R2)."""

from __future__ import annotations

from runtime.engine.seal import seal_events
from tests.unit.runtime.engine.histories import answered, called, said, user


def test_open_calls_of_the_invocation_are_answered_with_the_reason() -> None:
    events = [
        user("old", invocation_id="e-0"),
        called("0", invocation_id="e-0"),
        user("go", invocation_id="e-1"),
        called("1", "2", author="clerk", branch="p.a", invocation_id="e-1"),
        answered(fields={"invocation_id": "e-1"}, **{"2": "done"}),
    ]
    [seal] = seal_events(events, "e-1", "The call was interrupted.")
    assert seal.content is not None
    assert (seal.author, seal.branch, seal.invocation_id, seal.content.role) == (
        "clerk",
        "p.a",
        "e-1",
        "user",
    )
    [response] = seal.get_function_responses()
    assert (response.id, response.name) == ("1", "f")
    assert response.response == {"status": "interrupted", "error": "The call was interrupted."}
    assert seal_events([*events, seal], "e-1", "again") == []


def test_without_open_calls_there_are_no_seals() -> None:
    closed = [called("1", invocation_id="e-1"), answered(fields={"invocation_id": "e-1"}, **{"1": "a"})]
    for events in ([], [said("hi", invocation_id="e-1")], closed):
        assert seal_events(events, "e-1", "stopped") == []


def test_calls_that_are_answered_from_outside_stay_open() -> None:
    waiting = called("1", "2", invocation_id="e-1", long_running_tool_ids={"1"})
    [seal] = seal_events([waiting], "e-1", "stopped")
    assert [response.id for response in seal.get_function_responses()] == ["2"]
    asked = called("3", name="adk_request_confirmation", invocation_id="e-1")
    assert seal_events([asked], "e-1", "stopped") == []


def test_each_parallel_agent_with_open_calls_gets_a_seal() -> None:
    events = [
        called(name, author=name, branch=f"p.{name}", invocation_id="e-1") for name in ("a", "b", "c")
    ] + [answered(author="b", fields={"invocation_id": "e-1"}, **{"b": "done"})]
    seals = seal_events(events, "e-1", "stopped")
    assert [(seal.author, seal.branch, seal.get_function_responses()[0].id) for seal in seals] == [
        ("a", "p.a", "a"),
        ("c", "p.c", "c"),
    ]
