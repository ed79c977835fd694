"""Queries about the function calls in a list of events: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from runtime import types
from runtime.events.event import Event

REQUEST_CONFIRMATION = "adk_request_confirmation"
REQUEST_CREDENTIAL = "adk_request_credential"
FRAMEWORK_CALLS = frozenset({REQUEST_CONFIRMATION, REQUEST_CREDENTIAL})
"""Calls with which the framework asks the person a question; models never see them (contract T7, T8)."""


def is_framework_request(event: Event) -> bool:
    """True when the framework asks the person a question in this event.

    A model may make a call of the same name, but the framework's calls alone are long-running.
    """
    long_running = event.long_running_tool_ids or ()
    return any(
        call.name in FRAMEWORK_CALLS and call.id in long_running for call in event.get_function_calls()
    )


def response_ids(event: Event) -> set[str]:
    """Return the ids of the calls that the event answers."""
    return {response.id for response in event.get_function_responses() if response.id}


def call_ids(event: Event) -> set[str]:
    """Return the ids of the calls that the event makes."""
    return {call.id for call in event.get_function_calls() if call.id}


def answered_ids(events: Iterable[Event]) -> set[str]:
    """Return the ids of all calls with at least one response, including calls that are still pending."""
    return {call_id for event in events for call_id in response_ids(event)}


def find_call_event(events: Sequence[Event], call_id: str) -> Event | None:
    """Return the latest event that makes the call, or None."""
    return next((event for event in reversed(events) if call_id in call_ids(event)), None)


def events_of_invocation(events: Sequence[Event], invocation_id: str) -> list[Event]:
    """Return the invocation's events, oldest first."""
    first = next((i for i, event in enumerate(events) if event.invocation_id == invocation_id), len(events))
    return [event for event in events[first:] if event.invocation_id == invocation_id]


def trailing_start(events: Sequence[Event], invocation_id: str) -> int:
    """Return the index at which the trailing events of the invocation begin; `len(events)` when there are none.

    Events of other invocations end the trailing run only when they have content (external state changes have none).
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
    """One response to a call.

    Attributes:
        from_outside: True when the person or another process gave the response, not the tool itself.
        is_refusal: True when the tool reported that it failed.
    """

    from_outside: bool
    is_refusal: bool


def answers_by_call(events: Iterable[Event]) -> dict[str, list[Answer]]:
    """Return all responses, grouped by call id."""
    answers: dict[str, list[Answer]] = {}
    for event in events:
        for response in event.get_function_responses():
            if response.id:
                answer = Answer(event.author == "user", is_refusal(response.response))
                answers.setdefault(response.id, []).append(answer)
    return answers


def is_refusal(response: dict[str, Any] | None) -> bool:
    """True when the response reports a failure, so that the call does not stay pending (contract T5)."""
    return response is not None and response.get("status") == "error"


def is_pending(answers: Sequence[Answer]) -> bool:
    """True while a long-running call with these answers waits for a response from outside."""
    return not any(answer.from_outside or answer.is_refusal for answer in answers)


def pending_calls(events: Sequence[Event]) -> dict[str, str]:
    """Return the long-running calls that wait for a response from outside, as `{call id: author}`."""
    answers = answers_by_call(events)
    return {
        call_id: event.author
        for event in events
        for call_id in event.long_running_tool_ids or ()
        if is_pending(answers.get(call_id, []))
    }


def unanswered_calls(events: Sequence[Event]) -> list[types.FunctionCall]:
    """Return the long-running calls without any response, including the framework's questions to the person."""
    answered = answered_ids(events)
    return [
        call
        for event in events
        for call in event.get_function_calls()
        if call.id in (event.long_running_tool_ids or ()) and call.id not in answered
    ]
