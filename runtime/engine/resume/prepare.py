"""Preparation of an invocation context for a resume (contract R1, T5)."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import types
from runtime.context import AgentProtocol, InvocationContext
from runtime.engine.build_events import user_event
from runtime.engine.resume.agent_progress import find_latest_start, recorded_states
from runtime.errors import InvocationNotFoundError
from runtime.events.calls import MadeCalls, answered_call_events
from runtime.events.event import Event
from runtime.sessions.session import Session


def find_answered_invocation(events: Sequence[Event], message: types.Content) -> str | None:
    """Return the id of the invocation whose call the message answers, or None."""
    answered = answered_call_events(events, message)
    return answered[0].invocation_id if answered else None


def prepare_resume(ctx: InvocationContext, root: AgentProtocol, message: types.Content | None) -> None:
    """Set the context to the progress recorded in the invocation's events.

    A message that answers a call which no longer waits starts new work, so the context then has no progress.
    """
    events = ctx.events()
    ctx.user_content = next((event.content for event in events if event.author == "user"), None)
    start = 0
    if _has_late_answer(ctx.node_runs().made, message):
        start = find_latest_start([*events, user_event(ctx, message)] if message else events)
        ctx.scope.node_runs = None
    # The message has no event yet. If it starts new work, its event will be the first of this work.
    ctx.scope.begins_at = len(ctx.session.events)
    if start < len(events):
        positions = enumerate(ctx.session.events)
        ctx.scope.begins_at = next(index for index, event in positions if event is events[start])
    # Again: `begins_at` has cut off earlier work.
    events = ctx.events()
    ctx.resuming = any(event.author != "user" for event in events)
    ctx.scope.agent_states, ctx.scope.ended = recorded_states(root, events)


def _has_late_answer(made: MadeCalls, message: types.Content | None) -> bool:
    """Return True if the message, or an event before it, answers a call whose wait had ended."""
    for part in (message.parts or ()) if message else ():
        response = part.function_response
        if response and response.id and not made.waits(response.id):
            return True
    return any(call.is_answered_again for call in made.in_order)


def nothing_to_run_error(session: Session, invocation_id: str | None) -> InvocationNotFoundError:
    """Return the error for a run without a message and without events to resume."""
    if invocation_id is None:
        return InvocationNotFoundError(
            "run_async needs a new_message, or the invocation_id of an invocation to resume."
        )
    return InvocationNotFoundError(f"Session {session.id!r} has no invocation {invocation_id!r} to resume.")
