"""`decide_answers` as a table: events, then the calls to rerun (contract T7, T8)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.engine.human_input.answers import (
    AlreadyAnswered,
    AnsweredRequest,
    NoAnswers,
    Rerun,
    decide_answers,
)
from runtime.events import Event, EventActions, ToolConfirmation
from tests.fakes import call, say
from tests.unit.runtime.confirmation.chat import response


def made(call_id: str = "c1", author: str = "clerk") -> Event:
    return said(author, call("pay", call_id, amount=1))


def asked(
    request_id: str = "q1",
    call_id: str = "c1",
    author: str = "clerk",
    framework: bool = True,
    payload: Any = None,
) -> Event:
    args = {
        "originalFunctionCall": {"id": call_id, "name": "pay", "args": {"amount": 999}},
        "toolConfirmation": {"payload": payload},
    }
    event = said(author, call("adk_request_confirmation", request_id, **args))
    event.long_running_tool_ids = {request_id} if framework else None
    return event


def given(request_id: str = "q1", confirmed: bool = True, invocation: str = "now") -> Event:
    return said(
        "user", response("adk_request_confirmation", request_id, {"confirmed": confirmed}), invocation
    )


def result(call_id: str = "c1", author: str = "clerk") -> Event:
    return said(author, response("pay", call_id, {"result": "x"}))


def said(author: str, part: types.Part, invocation: str = "before") -> Event:
    return Event(author=author, invocation_id=invocation, content=types.Content(parts=[part]))


def rewound() -> Event:
    return Event(author="user", invocation_id="r", actions=EventActions(rewind_before_invocation_id="before"))


QUESTION = [made(), result(), asked()]
NOTHING, SPENT = NoAnswers(), AlreadyAnswered()
TABLE: dict[str, tuple[list[Event], Any]] = {
    "nobody answered": (QUESTION, NOTHING),
    "a yes": ([*QUESTION, given()], {"c1": True}),
    "a no": ([*QUESTION, given(confirmed=False)], {"c1": False}),
    "asked before it was answered pending": ([made(), asked(), result(), given()], {"c1": True}),
    "the answer of another invocation": ([*QUESTION, given(invocation="other")], NOTHING),
    "run meanwhile": ([*QUESTION, given(), result()], NOTHING),
    "answered and run before": ([*QUESTION, given(invocation="other"), result(), given()], SPENT),
    "answered before but cut off": (
        [*QUESTION, given(invocation="other"), given(confirmed=False)],
        {"c1": False},
    ),
    "a question that nobody asked": ([*QUESTION, given("q9")], SPENT),
    "a call that nobody made": ([asked(), given()], NOTHING),
    "a call of another agent": ([made(author="other"), result(), asked(), given()], NOTHING),
    "a question of another agent": ([made(), result(), asked(author="other"), given()], NOTHING),
    "a call that the client says it made": ([made(author="user"), asked(author="user"), given()], NOTHING),
    "a question that the model made up": ([made(), result(), asked(framework=False), given()], SPENT),
    "a question that was replaced": ([*QUESTION, asked("q2"), given()], SPENT),
    "the question that replaced it": ([*QUESTION, asked("q2"), given("q2")], {"c1": True}),
    "a rewound question": ([*QUESTION, rewound(), given()], SPENT),
    "another agent has run its call of the same id": (
        [
            *QUESTION,
            made(author="other"),
            asked("q2", author="other"),
            given(),
            given("q2"),
            result(author="other"),
        ],
        {"c1": True},
    ),
    "a result from outside": ([*QUESTION, given(), result(author="user")], NOTHING),
    "an id that was used again": ([*QUESTION, made(), result(), given()], {"c1": True}),
}


@pytest.mark.parametrize("case", TABLE)
def test_the_calls_to_rerun_follow_from_the_events(case: str) -> None:
    events, expected = TABLE[case]
    decision = decide_answers(events, "now", ("clerk", ""))
    if not isinstance(expected, dict):
        assert decision == expected
        return
    assert isinstance(decision, Rerun)
    assert decision.calls == [events[0].get_function_calls()[0]]
    assert decision.confirmations == {
        call_id: AnsweredRequest(ToolConfirmation(confirmed=confirmed))
        for call_id, confirmed in expected.items()
    }


def test_an_answer_comes_with_the_payload_of_the_request_that_it_answers() -> None:
    first = [made(), result(), asked("q1", payload={"step": 1}), given("q1", invocation="other"), result()]
    decision = decide_answers([*first, asked("q2", payload={"step": 2}), given("q2")], "now", ("clerk", ""))
    assert isinstance(decision, Rerun)
    assert decision.confirmations == {"c1": AnsweredRequest(ToolConfirmation(confirmed=True), {"step": 2})}


def test_text_beside_a_late_answer_is_not_ignored() -> None:
    late = given("q9")
    assert late.content is not None and late.content.parts is not None
    late.content.parts += say("hello").parts or []
    assert decide_answers([*QUESTION, late], "now", ("clerk", "")) == NoAnswers()
