"""Events that record an interruption: partial text, and error responses for open calls (contract R2)."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import types
from runtime.events.calls import FRAMEWORK_CALLS, id_of_requested_call, made_calls
from runtime.events.event import Event
from runtime.events.event_actions import EventActions


def seal_events(events: Sequence[Event], invocation_id: str, reason: str) -> list[Event]:
    """Return events that answer the invocation's open calls with an error, one per event that made such calls.

    Several events may have open calls when parallel agents ran. Long-running calls stay open: their response comes
    from outside.
    """
    own_events = [event for event in events if event.invocation_id == invocation_id]
    parts_by_event: dict[int, list[types.Part]] = {}
    for made in made_calls(own_events):
        if not (made.answers or made.is_long_running or made.call.name in FRAMEWORK_CALLS):
            parts_by_event.setdefault(id(made.event), []).append(_error_part(made.call, reason))
    return [
        Event(
            author=event.author,
            invocation_id=invocation_id,
            branch=event.branch,
            content=types.Content(role="user", parts=parts_by_event[id(event)]),
            actions=EventActions(),
        )
        for event in own_events
        if id(event) in parts_by_event
    ]


def seal_waiting_calls(events: Sequence[Event], invocation_id: str, reason: str) -> list[Event]:
    """Return one event for each pending call of the invocation, which answers the call with an error.

    A question of the framework is about another call; its event answers that call, too.
    """
    own_events = [event for event in events if event.invocation_id == invocation_id]
    made = made_calls(own_events)
    calls = {one.call.id: one.call for one in made}
    sealed = []
    for one in made:
        if not one.is_pending:
            continue
        asked_about = calls.get(id_of_requested_call(one.call)) if one.call.name in FRAMEWORK_CALLS else None
        parts = [_error_part(call, reason) for call in (one.call, asked_about) if call]
        content = types.Content(role="user", parts=parts)
        sealed.append(
            Event(
                author=one.event.author,
                invocation_id=invocation_id,
                branch=one.event.branch,
                content=content,
                actions=EventActions(),
            )
        )
    return sealed


def interrupted_event(
    author: str, invocation_id: str, text: str = "", *, thought: bool = False, branch: str | None = None
) -> Event:
    """Return an event marked `interrupted` with the text streamed so far; without text it has no content."""
    content = None
    if text:
        content = types.Content(role="model", parts=[types.Part(text=text, thought=thought or None)])
    return Event(author=author, invocation_id=invocation_id, branch=branch, content=content, interrupted=True)


def _error_part(call: types.FunctionCall, reason: str) -> types.Part:
    response = {"status": "error", "error": reason}
    return types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response=response))
