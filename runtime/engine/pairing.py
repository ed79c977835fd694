"""Function calls followed by their responses, in the order required by models (contract A7, Q10).

In the log, responses may come late, out of order, or after other messages. A model API wants each content with calls to
be followed directly by one content with all responses. The latest response of a call wins: it replaces the "pending"
response that the model saw first, and the model's texts between the two go, because they speak of a pending result.
"""

from collections.abc import Iterable, Mapping, Sequence

from runtime import types
from runtime._pydantic_models import construct
from runtime.events.calls import MadeCall, made_calls, response_ids
from runtime.events.event import Event

CallsByEvent = Mapping[int, Sequence[MadeCall]]
"""Calls by the `id()` of their event, because events are not hashable."""


def drop_text_before_latest_response(events: list[Event]) -> list[Event]:
    """If the last event answers an earlier call, drop the events between the two (contract Q10).

    If the last event answers several calls, drop only events after the latest of these calls.
    """
    if not events or not response_ids(events[-1]):
        return events
    calls_of = calls_by_event(made_calls(events))
    for index in range(len(events) - 1, -1, -1):
        made = calls_of.get(id(events[index]), ())
        answers = {id(answer.event) for call in made for answer in call.answers}
        if id(events[-1]) in answers:
            # Responses to other calls of the same event stay: the pairing needs all of them.
            earlier_responses = [event for event in events[index + 1 : -1] if id(event) in answers]
            return [*events[: index + 1], *earlier_responses, events[-1]]
    return events


def calls_by_event(made: Iterable[MadeCall]) -> CallsByEvent:
    calls_of: dict[int, list[MadeCall]] = {}
    for call in made:
        calls_of.setdefault(id(call.event), []).append(call)
    return calls_of


def pair_responses_with_calls(events: Sequence[Event], calls_of: CallsByEvent) -> list[types.Content]:
    """Return the contents of the events, with the latest responses after each content with calls, in call order.

    Drop calls without a response and responses without a call, because models refuse such contents. Keep the other
    parts of an event with responses in place. `events` may be a slice of the events in `calls_of`.
    """
    paired: list[types.Content] = []
    for event in events:
        content = event.content
        if content is None:
            continue
        parts = content.parts or []
        calls = calls_of.get(id(event))
        if calls:
            unanswered = [made.call for made in calls if not made.answers]
            paired.append(_without_calls(parts, unanswered) if unanswered else content)
            added = [made.answers[-1].part for made in calls if made.answers]
        elif any([part.function_response for part in parts]):
            added = [part for part in parts if not part.function_response]
        else:
            paired.append(content)
            continue
        if added:
            paired.append(construct(types.Content, role="user", parts=added))
    return paired


def _without_calls(parts: Sequence[types.Part], dropped: Sequence[types.FunctionCall]) -> types.Content:
    # By identity: models may use an id twice in one content.
    kept = [part for part in parts if not any(part.function_call is call for call in dropped)]
    return construct(types.Content, role="model", parts=kept)
