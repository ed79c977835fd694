"""Spec A5, A7, T5: pure questions about calls and branches in a history."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.events import Event
from runtime.events.branch import child_of, is_visible_from
from runtime.events.calls import answered_ids, call_ids, events_of_invocation, find_call_event, response_ids


def called(*ids: str | None, invocation_id: str = "e-1") -> Event:
    parts = [types.Part(function_call=types.FunctionCall(name="f", id=id_)) for id_ in ids]
    content = types.Content(role="model", parts=parts)
    return Event(author="agent", invocation_id=invocation_id, content=content)


def answered(*ids: str, invocation_id: str = "e-1") -> Event:
    parts = [types.Part(function_response=types.FunctionResponse(name="f", id=id_)) for id_ in ids]
    content = types.Content(role="user", parts=parts)
    return Event(author="agent", invocation_id=invocation_id, content=content)


def test_the_ids_of_calls_and_responses() -> None:
    assert call_ids(called("a", None, "b")) == {"a", "b"}
    assert response_ids(answered("a", "b")) == {"a", "b"}
    assert answered_ids([called("a"), answered("b"), answered("c", "b")]) == {"b", "c"}


def test_the_latest_event_that_makes_a_call_is_found() -> None:
    events = [called("a"), called("a", "b"), answered("a")]
    assert find_call_event(events, "a") is events[1]
    assert find_call_event(events, "c") is None


def test_the_events_of_an_invocation_are_found_beside_changes_from_outside() -> None:
    state_only = Event(author="admin", invocation_id="")
    events = [called("x", invocation_id="e-0"), called("a"), state_only, answered("a")]
    assert events_of_invocation(events, "e-1") == [events[1], events[3]]
    assert events_of_invocation(events, "e-2") == []


@pytest.mark.parametrize(
    ("branch", "parent", "child", "expected"),
    [(None, "p", "c", "p.c"), ("p.c", "q", "d", "p.c.q.d"), ("", "p", "c", "p.c")],
)
def test_the_branch_of_a_parallel_child(branch: str | None, parent: str, child: str, expected: str) -> None:
    """A5."""
    assert child_of(branch, parent, child) == expected


@pytest.mark.parametrize(
    ("branch", "event_branch", "is_seen"),
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
def test_a_branch_sees_itself_and_what_is_above_it(
    branch: str | None, event_branch: str | None, is_seen: bool
) -> None:
    """A7, Q9."""
    assert is_visible_from(branch, event_branch) is is_seen
