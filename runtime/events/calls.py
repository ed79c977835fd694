"""Questions about the function calls in a history: pure functions over events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from runtime import types
from runtime.events.event import Event

REQUEST_CONFIRMATION = "adk_request_confirmation"
REQUEST_CREDENTIAL = "adk_request_credential"
FRAMEWORK_CALLS = frozenset({REQUEST_CONFIRMATION, REQUEST_CREDENTIAL})
"""The calls by which the framework asks the person something; models never see them (spec T7, T8)."""


def is_request(event: Event) -> bool:
    """Whether the event is a question of the framework to the person, and not a model's idea of one."""
    asked = event.long_running_tool_ids or ()
    return any(call.name in FRAMEWORK_CALLS and call.id in asked for call in event.get_function_calls())


def response_ids(event: Event) -> set[str]:
    """The ids of the calls that the event answers."""
    return {response.id for response in event.get_function_responses() if response.id}


def call_ids(event: Event) -> set[str]:
    """The ids of the calls that the event makes."""
    return {call.id for call in event.get_function_calls() if call.id}


def answered_ids(events: Iterable[Event]) -> set[str]:
    """The ids of all calls that have a response, pending ones included."""
    return {call_id for event in events for call_id in response_ids(event)}


def find_call_event(events: Sequence[Event], call_id: str) -> Event | None:
    """The latest event that makes the call."""
    return next((event for event in reversed(events) if call_id in call_ids(event)), None)


def events_of_invocation(events: Sequence[Event], invocation_id: str) -> list[Event]:
    """The invocation's events, oldest first."""
    first = next((i for i, event in enumerate(events) if event.invocation_id == invocation_id), len(events))
    return [event for event in events[first:] if event.invocation_id == invocation_id]


def first_index(events: Sequence[Event], invocation_id: str) -> int:
    """Where the unbroken tail of the invocation's events begins; `len(events)` when it has none there.

    Events of others without content (state changes from outside) do not break the tail.
    """
    start = len(events)
    for index in range(len(events) - 1, -1, -1):
        event = events[index]
        if event.invocation_id == invocation_id:
            start = index
        elif event.content:
            break
    return start


@dataclass(frozen=True)
class Answer:
    """One response to a call: whether it came from outside, and whether it says that nothing was done."""

    from_outside: bool
    is_refusal: bool


def answers_by_call(events: Iterable[Event]) -> dict[str, list[Answer]]:
    """All responses, by the id of the call."""
    answers: dict[str, list[Answer]] = {}
    for event in events:
        for response in event.get_function_responses():
            if response.id:
                answer = Answer(event.author == "user", is_refusal(response.response))
                answers.setdefault(response.id, []).append(answer)
    return answers


def is_refusal(response: dict[str, Any] | None) -> bool:
    """Whether a tool's response says that it failed, so that there is nothing to wait for (spec T5)."""
    return response is not None and response.get("status") == "error"


def is_pending(answers: Sequence[Answer]) -> bool:
    """Whether a long-running call with these answers still waits for one from outside."""
    return not any(answer.from_outside or answer.is_refusal for answer in answers)


def pending_calls(events: Sequence[Event]) -> dict[str, str]:
    """The long-running calls that wait for an answer from outside: {call id: author}."""
    answers = answers_by_call(events)
    return {
        call_id: event.author
        for event in events
        for call_id in event.long_running_tool_ids or ()
        if is_pending(answers.get(call_id, []))
    }


def unanswered_calls(events: Sequence[Event]) -> list[types.FunctionCall]:
    """The long-running calls, questions to a person among them, that nothing was said to yet, not even a first word."""
    answered = answered_ids(events)
    return [
        call
        for event in events
        for call in event.get_function_calls()
        if call.id in (event.long_running_tool_ids or ()) and call.id not in answered
    ]
