"""Function calls and their responses, put side by side for the model (spec A7, Q10)."""

from __future__ import annotations

from runtime import types
from runtime.events.calls import answered_ids, call_ids, response_ids
from runtime.events.event import Event


def settle_latest_response(events: list[Event]) -> list[Event]:
    """When the last event answers an earlier call, leave out what was said between the two (spec Q10).

    Of several calls that it answers the latest one counts, so that no other call is left out.
    """
    if not events or not (answers := response_ids(events[-1])):
        return events
    call_event = next((event for event in reversed(events) if answers & call_ids(event)), None)
    if call_event is None:
        return events
    made = call_ids(call_event)
    index = next(i for i, event in enumerate(events) if event is call_event)
    between = [event for event in events[index + 1 : -1] if made & response_ids(event)]
    return [*events[: index + 1], *between, events[-1]]


def pair_responses_with_calls(events: list[Event]) -> list[Event]:
    """Each event with calls followed by one event with their latest responses, in call order.

    Calls without a response and responses without a call are dropped: a model refuses such a history. What else
    an event with responses says stays in its place.
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
        elif beside := [part for part in _parts(event) if not part.function_response]:
            paired.append(_with_parts(event, "user", beside))
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
