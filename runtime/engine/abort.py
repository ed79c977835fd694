"""Sealing: answers for the calls that an abort left open, so that the history stays valid (spec R2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime import types
from runtime.events.calls import FRAMEWORK_CALLS, answered_ids
from runtime.events.event import Event
from runtime.events.event_actions import EventActions


def seal_events(events: Sequence[Event], invocation_id: str, reason: str) -> list[Event]:
    """Events that answer the invocation's open calls with an error: one for each event that made such calls.

    Parallel agents may each have left some. Long-running calls stay open: their answer comes from outside.
    """
    own = [event for event in events if event.invocation_id == invocation_id]
    answered = answered_ids(own)
    seals: list[Event] = []
    for event in own:
        parts = [_sealed(call, reason) for call in _sealable(event) if call.id not in answered]
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
    """What an agent had said when it was interrupted; without text, only that it was."""
    content = None
    if text:
        content = types.Content(role="model", parts=[types.Part(text=text, thought=thought or None)])
    return Event(author=author, invocation_id=invocation_id, branch=branch, content=content, interrupted=True)


def _sealable(event: Event) -> Iterable[types.FunctionCall]:
    waiting = event.long_running_tool_ids or set()
    return (
        call
        for call in event.get_function_calls()
        if call.id and call.id not in waiting and call.name not in FRAMEWORK_CALLS
    )


def _sealed(call: types.FunctionCall, reason: str) -> types.Part:
    response = {"status": "error", "error": reason}
    return types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response=response))
