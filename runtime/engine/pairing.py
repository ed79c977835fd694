"""Function calls followed by their responses, in the order that models require (contract A7, Q10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from runtime import types
from runtime._pydantic_models import construct
from runtime.events.calls import MadeCall, made_calls, response_ids
from runtime.events.event import Event

CallsByEvent = Mapping[int, Sequence[MadeCall]]
"""Calls by the `id()` of the event that makes them."""


def drop_text_before_latest_response(events: list[Event]) -> list[Event]:
    """When the last event answers an earlier call, drop the text between the two (contract Q10).

    When it answers several calls, only the text after the latest of them is dropped, so that no call is dropped.
    """
    if not events or not response_ids(events[-1]):
        return events
    made = made_calls(events)
    answered = [one.event for one in made if any(answer.event is events[-1] for answer in one.answers)]
    if not answered:
        return events
    call_event = answered[-1]
    answers = {id(answer.event) for one in made if one.event is call_event for answer in one.answers}
    index = next(i for i, event in enumerate(events) if event is call_event)
    earlier_responses = [event for event in events[index + 1 : -1] if id(event) in answers]
    return [*events[: index + 1], *earlier_responses, events[-1]]


def calls_by_event(made: Iterable[MadeCall]) -> CallsByEvent:
    """Return the calls of each event."""
    calls_of: dict[int, list[MadeCall]] = {}
    for one in made:
        calls_of.setdefault(id(one.event), []).append(one)
    return calls_of


def pair_responses_with_calls(events: Sequence[Event], calls_of: CallsByEvent) -> list[types.Content]:
    """Return the events' contents; one with calls is followed by one with their latest responses, in call order.

    Calls without a response and responses without a call are dropped, because models refuse such contents. Other
    parts of an event with responses stay in their place. The events may be a slice of those that the calls are from.
    """
    paired: list[types.Content] = []
    for event in events:
        content = event.content
        if content is None:
            continue
        parts = content.parts or []
        if calls := calls_of.get(id(event)):
            unanswered = [made.call for made in calls if not made.answers]
            paired.append(_without_calls(parts, unanswered) if unanswered else content)
            if responses := [made.answers[-1].part for made in calls if made.answers]:
                paired.append(construct(types.Content, role="user", parts=responses))
        elif any([part.function_response for part in parts]):
            if other_parts := [part for part in parts if not part.function_response]:
                paired.append(construct(types.Content, role="user", parts=other_parts))
        else:
            paired.append(content)
    return paired


def _without_calls(parts: Sequence[types.Part], dropped: Sequence[types.FunctionCall]) -> types.Content:
    kept = [part for part in parts if not any(part.function_call is call for call in dropped)]
    return construct(types.Content, role="model", parts=kept)
