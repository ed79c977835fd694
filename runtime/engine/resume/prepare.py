"""Preparation of an invocation context for a resume (contract R1, T5)."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import types
from runtime.context import AgentProtocol, InvocationContext
from runtime.engine.build_events import user_event
from runtime.engine.resume.agent_progress import find_latest_start, recorded_states
from runtime.errors import InvocationNotFoundError
from runtime.events.calls import answered_call_events
from runtime.events.event import Event
from runtime.sessions.session import Session


def find_answered_invocation(events: Sequence[Event], message: types.Content) -> str | None:
    """Return the id of the invocation that made a call which the message answers, or None."""
    return next((event.invocation_id for event in answered_call_events(events, message)), None)


def prepare_resume(ctx: InvocationContext, root: AgentProtocol, message: types.Content | None) -> None:
    """Set the context to the progress recorded in the invocation's events.

    A message that answers a call that is no longer pending starts new work: then the context has no progress.
    """
    events = ctx.events()
    ctx.user_content = next((event.content for event in events if event.author == "user"), None)
    start = find_latest_start([*events, user_event(ctx, message)] if message else events)
    first = events[start] if start < len(events) else None
    ctx.scope.begins_at = next(
        (index for index, event in enumerate(ctx.session.events) if event is first),
        len(ctx.session.events),
    )
    events = ctx.events()
    ctx.resuming = any(event.author != "user" for event in events)
    ctx.scope.agent_states, ctx.scope.ended = recorded_states(root, events)


def nothing_to_run_error(session: Session, invocation_id: str | None) -> InvocationNotFoundError:
    """Return the error for a run without a message and without events to resume."""
    if invocation_id is None:
        return InvocationNotFoundError(
            "run_async needs a new_message, or the invocation_id of an invocation to resume."
        )
    return InvocationNotFoundError(f"Session {session.id!r} has no invocation {invocation_id!r} to resume.")
