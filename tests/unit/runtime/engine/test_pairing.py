"""Spec A7, Q10: function calls and their responses side by side, tables of `list[Event] -> list[Event]`."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.engine.pairing import drop_text_before_latest_response, pair_responses_with_calls
from runtime.events import Event
from tests.unit.runtime.engine.histories import answered, called, said, story, user


def told(events: list[Event]) -> list[str]:
    return story([event.content for event in events])


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], []),
        ([user("hi"), said("ho")], ["user: hi", "model: ho"]),
        (
            [called("1"), answered(**{"1": "a"}), said("done")],
            ["model: f#1", "user: f#1=a", "model: done"],
        ),
        # an answer from outside moves next to its call
        (
            [called("1"), said("wait"), user("hm"), answered("user", **{"1": "late"})],
            ["model: f#1", "user: f#1=late", "model: wait", "user: hm"],
        ),
        # the latest answer stands for the pending one
        (
            [called("1"), answered(**{"1": "pending"}), said("wait"), answered("user", **{"1": "late"})],
            ["model: f#1", "user: f#1=late", "model: wait"],
        ),
        # answers of one event come in call order, whoever gave them when
        (
            [
                called("1", "2", "3"),
                answered(**{"3": "c"}),
                answered("user", **{"2": "b"}),
                answered("user", **{"1": "a"}),
            ],
            ["model: f#1 | f#2 | f#3", "user: f#1=a | f#2=b | f#3=c"],
        ),
        # a call without an answer is left out, and so is an answer without a call
        ([user("hi"), called("1"), user("still there?")], ["user: hi", "user: still there?"]),
        (
            [called("1", "2"), answered(**{"2": "b"})],
            ["model: f#2", "user: f#2=b"],
        ),
        ([user("hi"), answered(**{"9": "x"})], ["user: hi"]),
        # several steps stay in their order
        (
            [called("1"), answered(**{"1": "a"}), called("2"), answered(**{"2": "b"})],
            ["model: f#1", "user: f#1=a", "model: f#2", "user: f#2=b"],
        ),
    ],
)
def test_every_call_is_followed_by_its_latest_response(events: list[Event], expected: list[str]) -> None:
    """A7."""
    assert [line for line in told(pair_responses_with_calls(events)) if line != "model: "] == expected


def test_the_words_beside_a_call_without_an_answer_stay() -> None:
    """A7."""
    event = called("1")
    assert event.content is not None and event.content.parts
    event.content.parts.insert(0, types.Part(text="I look it up."))
    assert told(pair_responses_with_calls([event])) == ["model: I look it up."]


def test_the_words_beside_a_response_stay_whether_or_not_there_is_a_call() -> None:
    """A7."""
    answer = answered("user", **{"1": "late"})
    assert answer.content is not None and answer.content.parts
    answer.content.parts.append(types.Part(text="and hurry"))
    paired = pair_responses_with_calls([called("1"), said("wait"), answer])
    assert told(paired) == ["model: f#1", "user: f#1=late", "model: wait", "user: and hurry"]
    assert told(pair_responses_with_calls([answer])) == ["user: and hurry"]


def test_pairing_changes_none_of_the_events() -> None:
    """Events are immutable records."""
    events = [called("1", "2"), said("wait"), answered("user", **{"2": "b"})]
    before = [event.model_copy(deep=True) for event in events]
    pair_responses_with_calls(drop_text_before_latest_response(events))
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
        # the other answers to the same event stay
        (
            [called("1", "2"), said("wait"), answered("user", **{"2": "b"}), answered("user", **{"1": "a"})],
            ["model: f#1 | f#2", "user: f#2=b", "user: f#1=a"],
        ),
        # nothing is left out once something was said after the answer
        (
            [called("1"), said("wait"), answered("user", **{"1": "late"}), said("done")],
            ["model: f#1", "model: wait", "user: f#1=late", "model: done"],
        ),
        # of several calls that are answered at once, the latest counts: none of them is left out
        (
            [called("1"), said("a"), called("2"), said("b"), answered("user", **{"1": "x", "2": "y"})],
            ["model: f#1", "model: a", "model: f#2", "user: f#1=x | f#2=y"],
        ),
        # an answer to a call that is not there
        ([user("hi"), answered(**{"9": "x"})], ["user: hi", "user: f#9=x"]),
    ],
)
def test_what_was_said_between_a_call_and_the_answer_that_just_came_is_left_out(
    events: list[Event], expected: list[str]
) -> None:
    """Q10."""
    assert told(drop_text_before_latest_response(events)) == expected
