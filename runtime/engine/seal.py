"""Events that record an interruption: partial text, and error responses for open calls (contract R2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime import types
from runtime.events.calls import FRAMEWORK_CALLS, answered_ids
from runtime.events.event import Event
from runtime.events.event_actions import EventActions


def seal_events(events: Sequence[Event], invocation_id: str, reason: str) -> list[Event]:
    """Return events that answer the invocation's open calls with an error, one per event that made such calls.

    Several events may have open calls when parallel agents ran. Long-running calls stay open: their response comes
    from outside.
    """
    own_events = [event for event in events if event.invocation_id == invocation_id]
    answered = answered_ids(own_events)
    seals: list[Event] = []
    for event in own_events:
        parts = [_error_part(call, reason) for call in _sealable_calls(event) if call.id not in answered]
        if parts:
            seals.append(
                Event(
                    author=event.author,
                    invocation_id=invocation_id,
                    branch=event.branch,
                    content=types.Content(role="user", parts=parts),
                    actions=EventActions(),
                )
            )
    return seals


def interrupted_event(
    author: str, invocation_id: str, text: str = "", *, thought: bool = False, branch: str | None = None
) -> Event:
    """Return an event marked `interrupted` with the text streamed so far; without text it has no content."""
    content = None
    if text:
        content = types.Content(role="model", parts=[types.Part(text=text, thought=thought or None)])
    return Event(author=author, invocation_id=invocation_id, branch=branch, content=content, interrupted=True)


def _sealable_calls(event: Event) -> Iterable[types.FunctionCall]:
    long_running_ids = event.long_running_tool_ids or set()
    return (
        call
        for call in event.get_function_calls()
        if call.id and call.id not in long_running_ids and call.name not in FRAMEWORK_CALLS
    )


def _error_part(call: types.FunctionCall, reason: str) -> types.Part:
    response = {"status": "error", "error": reason}
    return types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response=response))
