"""Function calls followed by their responses, in the order that models require (contract A7, Q10)."""

from __future__ import annotations

from runtime import types
from runtime.events.calls import answered_ids, call_ids, response_ids
from runtime.events.event import Event


def drop_text_before_latest_response(events: list[Event]) -> list[Event]:
    """When the last event answers an earlier call, drop the text between the two (contract Q10).

    When it answers several calls, only the text after the latest of them is dropped, so that no call is.
    """
    if not events or not (answered := response_ids(events[-1])):
        return events
    call_event = next((event for event in reversed(events) if answered & call_ids(event)), None)
    if call_event is None:
        return events
    ids = call_ids(call_event)
    index = next(i for i, event in enumerate(events) if event is call_event)
    earlier_responses = [event for event in events[index + 1 : -1] if ids & response_ids(event)]
    return [*events[: index + 1], *earlier_responses, events[-1]]


def pair_responses_with_calls(events: list[Event]) -> list[Event]:
    """Let each event with calls be followed by one event with their latest responses, in call order.

    Calls without a response and responses without a call are dropped, because models refuse such contents. Other
    parts of an event with responses stay in their place.
    """
    latest = {
        part.function_response.id: part
        for event in events
        for part in _parts(event)
        if part.function_response and part.function_response.id
    }
    answered = answered_ids(events)
    paired: list[Event] = []
    for event in events:
        if calls := call_ids(event):
            paired.append(event if calls <= answered else _without_calls(event, calls - answered))
            if responses := [latest[call.id] for call in event.get_function_calls() if call.id in latest]:
                paired.append(_response_event(event, responses))
        elif not event.get_function_responses():
            paired.append(event)
        elif other_parts := [part for part in _parts(event) if not part.function_response]:
            paired.append(_with_parts(event, "user", other_parts))
    return paired


def _without_calls(event: Event, dropped: set[str]) -> Event:
    parts = [part for part in _parts(event) if not (part.function_call and part.function_call.id in dropped)]
    return _with_parts(event, "model", parts)


def _response_event(call_event: Event, responses: list[types.Part]) -> Event:
    return _with_parts(call_event, "user", responses)


def _with_parts(event: Event, role: str, parts: list[types.Part]) -> Event:
    return event.model_copy(update={"content": types.Content.model_construct(role=role, parts=parts)})


def _parts(event: Event) -> list[types.Part]:
    return (event.content.parts or []) if event.content else []
