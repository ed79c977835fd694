"""Pairing of function calls with their responses, as tables of events (contract A7, Q10)."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.engine.pairing import (
    calls_by_event,
    drop_text_before_latest_response,
    pair_responses_with_calls,
)
from runtime.events import Event
from runtime.events.calls import made_calls
from tests.unit.runtime.engine.histories import answered, called, said, story, user


def paired(events: list[Event]) -> list[str]:
    return story(pair_responses_with_calls(events, calls_by_event(made_calls(events))))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], []),
        ([user("hi"), said("ho")], ["user: hi", "model: ho"]),
        (
            [called("1"), answered(**{"1": "a"}), said("done")],
            ["model: f#1", "user: f#1=a", "model: done"],
        ),
        # a response from outside moves next to its call
        (
            [called("1"), said("wait"), user("hm"), answered("user", **{"1": "late"})],
            ["model: f#1", "user: f#1=late", "model: wait", "user: hm"],
        ),
        # the latest response replaces the pending one
        (
            [called("1"), answered(**{"1": "pending"}), said("wait"), answered("user", **{"1": "late"})],
            ["model: f#1", "user: f#1=late", "model: wait"],
        ),
        # responses to one event come in call order
        (
            [
                called("1", "2", "3"),
                answered(**{"3": "c"}),
                answered("user", **{"2": "b"}),
                answered("user", **{"1": "a"}),
            ],
            ["model: f#1 | f#2 | f#3", "user: f#1=a | f#2=b | f#3=c"],
        ),
        # calls without a response and responses without a call are left out
        ([user("hi"), called("1"), user("still there?")], ["user: hi", "user: still there?"]),
        (
            [called("1", "2"), answered(**{"2": "b"})],
            ["model: f#2", "user: f#2=b"],
        ),
        ([user("hi"), answered(**{"9": "x"})], ["user: hi"]),
        # several steps keep their order
        (
            [called("1"), answered(**{"1": "a"}), called("2"), answered(**{"2": "b"})],
            ["model: f#1", "user: f#1=a", "model: f#2", "user: f#2=b"],
        ),
    ],
)
def test_every_call_is_followed_by_its_latest_response(events: list[Event], expected: list[str]) -> None:
    """Contract A7."""
    assert [line for line in paired(events) if line != "model: "] == expected


def test_text_beside_a_call_without_a_response_stays() -> None:
    """Contract A7."""
    event = called("1")
    assert event.content is not None and event.content.parts
    event.content.parts.insert(0, types.Part(text="I look it up."))
    assert paired([event]) == ["model: I look it up."]


def test_text_beside_a_response_stays_with_or_without_a_call() -> None:
    """Contract A7."""
    answer = answered("user", **{"1": "late"})
    assert answer.content is not None and answer.content.parts
    answer.content.parts.append(types.Part(text="and hurry"))
    assert paired([called("1"), said("wait"), answer]) == [
        "model: f#1",
        "user: f#1=late",
        "model: wait",
        "user: and hurry",
    ]
    assert paired([answer]) == ["user: and hurry"]


def test_pairing_changes_none_of_the_events() -> None:
    """Events are immutable records."""
    events = [called("1", "2"), said("wait"), answered("user", **{"2": "b"})]
    before = [event.model_copy(deep=True) for event in events]
    paired(drop_text_before_latest_response(events))
    assert events == before


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], []),
        ([user("hi"), said("ho")], ["user: hi", "model: ho"]),
        (
            [user("go"), called("1"), said("wait"), user("hm"), answered("user", **{"1": "late"})],
            ["user: go", "model: f#1", "user: f#1=late"],
        ),
        # other responses to the same event stay
        (
            [called("1", "2"), said("wait"), answered("user", **{"2": "b"}), answered("user", **{"1": "a"})],
            ["model: f#1 | f#2", "user: f#2=b", "user: f#1=a"],
        ),
        # nothing is left out when an event follows the response
        (
            [called("1"), said("wait"), answered("user", **{"1": "late"}), said("done")],
            ["model: f#1", "model: wait", "user: f#1=late", "model: done"],
        ),
        # when several calls are answered at once, only text after the latest call is left out
        (
            [called("1"), said("a"), called("2"), said("b"), answered("user", **{"1": "x", "2": "y"})],
            ["model: f#1", "model: a", "model: f#2", "user: f#1=x | f#2=y"],
        ),
        # a response to an unknown call
        ([user("hi"), answered(**{"9": "x"})], ["user: hi", "user: f#9=x"]),
    ],
)
def test_text_between_a_call_and_its_latest_response_is_left_out(
    events: list[Event], expected: list[str]
) -> None:
    """Contract Q10."""
    contents = [event.content for event in drop_text_before_latest_response(events)]
    assert story(contents) == expected
