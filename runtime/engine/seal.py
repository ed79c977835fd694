"""Events to record an interruption: partial text, and error responses for open calls (contract R2).

A cancelled or crashed invocation may leave calls without a response. They are sealed, because a later resume
would otherwise run them again, and because models refuse contents with unanswered calls.
"""

from collections.abc import Sequence

from runtime import types
from runtime.events.calls import (
    FRAMEWORK_CALLS,
    ResponseStatus,
    events_of_invocation,
    id_of_requested_call,
    made_calls,
)
from runtime.events.event import Event
from runtime.events.event_actions import EventActions


def seal_events(events: Sequence[Event], invocation_id: str, reason: str) -> list[Event]:
    """Return events to answer the open calls of an invocation as interrupted, grouped by the event of the calls.

    Long-running calls stay open: their response comes from outside.
    """
    # Several events have open calls if parallel agents ran.
    open_calls: dict[int, tuple[Event, list[types.FunctionCall]]] = {}
    for made in made_calls(events_of_invocation(events, invocation_id)):
        if not (made.answers or made.is_long_running or made.call.name in FRAMEWORK_CALLS):
            _, calls = open_calls.setdefault(id(made.event), (made.event, []))
            calls.append(made.call)
    sealed = []
    for event, calls in open_calls.values():
        sealed.append(_failure_event(event, calls, ResponseStatus.INTERRUPTED, reason))
    return sealed


def seal_waiting_calls(events: Sequence[Event], invocation_id: str, reason: str) -> list[Event]:
    """Return events to answer the pending calls of the invocation as stopped, one for each call."""
    made_here = made_calls(events_of_invocation(events, invocation_id))
    calls_by_id = {made.call.id: made.call for made in made_here}
    sealed = []
    for made in made_here:
        if not made.is_pending:
            continue
        calls = [made.call]
        asked_about = calls_by_id.get(id_of_requested_call(made.call))
        # Models never see the framework's question, so the call that it is about has to be answered as well.
        if asked_about and made.call.name in FRAMEWORK_CALLS:
            calls.append(asked_about)
        sealed.append(_failure_event(made.event, calls, ResponseStatus.STOPPED, reason))
    return sealed


def interrupted_event(
    author: str, invocation_id: str, text: str = "", *, thought: bool = False, branch: str | None = None
) -> Event:
    """Return an event marked `interrupted` with the text streamed so far; without text, an event without content."""
    content = None
    if text:
        content = types.Content(role="model", parts=[types.Part(text=text, thought=thought or None)])
    return Event(author=author, invocation_id=invocation_id, branch=branch, content=content, interrupted=True)


def _failure_event(
    made_in: Event, calls: Sequence[types.FunctionCall], status: ResponseStatus, reason: str
) -> Event:
    """Return an event to answer calls of the event `made_in` as failed."""
    parts = []
    for call in calls:
        response = types.FunctionResponse(id=call.id, name=call.name, response=status.with_error(reason))
        parts.append(types.Part(function_response=response))
    return Event(
        author=made_in.author,
        invocation_id=made_in.invocation_id,
        branch=made_in.branch,
        content=types.Content(role="user", parts=parts),
        actions=EventActions(),
    )
