"""Contract A5, A7, T5: queries about calls and branches in a list of events."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.events import Event
from runtime.events.calls import (
    answered_ids,
    call_ids,
    events_of_invocation,
    find_call_event,
    find_pending_call,
    response_ids,
)
from runtime.events.event import child_of, is_visible_from


def call_event(*ids: str | None, invocation_id: str = "e-1") -> Event:
    parts = [types.Part(function_call=types.FunctionCall(name="f", id=id_)) for id_ in ids]
    content = types.Content(role="model", parts=parts)
    return Event(author="agent", invocation_id=invocation_id, content=content)


def response_event(*ids: str, invocation_id: str = "e-1") -> Event:
    parts = [types.Part(function_response=types.FunctionResponse(name="f", id=id_)) for id_ in ids]
    content = types.Content(role="user", parts=parts)
    return Event(author="agent", invocation_id=invocation_id, content=content)


def test_the_ids_of_calls_and_responses_are_collected() -> None:
    assert call_ids(call_event("a", None, "b")) == {"a", "b"}
    assert response_ids(response_event("a", "b")) == {"a", "b"}
    events = [call_event("a"), response_event("b"), response_event("c", "b")]
    assert answered_ids(events) == {"b", "c"}


def test_the_latest_event_that_makes_a_call_is_found() -> None:
    events = [call_event("a"), call_event("a", "b"), response_event("a")]
    assert find_call_event(events, "a") is events[1]
    assert find_call_event(events, "c") is None


def question(agent: str, invocation_id: str = "e-1") -> Event:
    event = call_event("a", invocation_id=invocation_id)
    event.author = agent
    event.long_running_tool_ids = {"a"}
    return event


def answer(author: str = "user", **response: str) -> Event:
    event = response_event("a")
    event.author = author
    event.get_function_responses()[0].response = response
    return event


def test_a_pending_call_is_found_also_if_its_id_was_used_again() -> None:
    def position(*events: Event) -> int | None:
        found = find_pending_call(events, "a")
        return events.index(found.event) if found else None

    assert position(question("one"), answer("one", status="pending")) == 0
    assert position(question("one"), answer()) is None
    assert position(question("one"), answer(), question("one")) == 2
    # The failure is of the first agent, and the second still waits.
    assert position(question("one"), question("two"), answer("one", status="error")) == 1
    assert position(call_event("a")) is None
    assert position() is None


def test_the_events_of_an_invocation_are_found_between_those_of_others() -> None:
    state_only = Event(author="admin", invocation_id="")
    events = [call_event("x", invocation_id="e-0"), call_event("a"), state_only, response_event("a")]
    assert events_of_invocation(events, "e-1") == [events[1], events[3]]
    assert events_of_invocation(events, "e-2") == []


@pytest.mark.parametrize(
    ("branch", "parent", "child", "expected"),
    [(None, "p", "c", "p.c"), ("p.c", "q", "d", "p.c.q.d"), ("", "p", "c", "p.c")],
)
def test_a_parallel_child_gets_its_own_branch(
    branch: str | None, parent: str, child: str, expected: str
) -> None:
    """Contract A5."""
    assert child_of(branch, parent, child) == expected


@pytest.mark.parametrize(
    ("branch", "event_branch", "is_visible"),
    [
        (None, None, True),
        (None, "p.a", True),
        ("p.a", None, True),
        ("p.a", "p.a", True),
        ("p.a", "p.b", False),
        ("p.a.q.c", "p.a", True),
        ("p.a", "p.a.q.c", False),
        ("p.ab", "p.a", False),
    ],
)
def test_events_of_the_same_branch_and_of_its_ancestors_are_visible(
    branch: str | None, event_branch: str | None, is_visible: bool
) -> None:
    """Contract A7, Q9."""
    assert is_visible_from(branch, event_branch) is is_visible
