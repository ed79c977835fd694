"""User messages: validate them, and make their event (contract L2, L10, T5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime import types
from runtime.artifacts.input_blobs import save_input_blobs
from runtime.context import InvocationContext, session_args
from runtime.engine.build_events import user_event
from runtime.errors import InvalidMessageError, with_article
from runtime.events.calls import events_of_invocation, find_call_event
from runtime.events.event import Event
from runtime.sessions.session import Session


def check_message(message: types.Content | None, events: Sequence[Event]) -> None:
    """Check that a message is a content whose function responses answer calls in `events`.

    Raises:
        InvalidMessageError: the message cannot be added to the session.
    """
    if message is None:
        return
    # Python does not check the annotation, and a plain text in place of a content is an easy mistake.
    if not isinstance(message, types.Content):
        raise InvalidMessageError(
            f"new_message is {with_article(type(message).__name__)}. Give a types.Content, such as "
            "types.UserContent('Hello')."
        )
    responses = [part.function_response for part in message.parts or [] if part.function_response]
    for response in responses:
        if response.id and find_call_event(events, response.id) is None:
            raise InvalidMessageError(
                f"Function call not found: the session has no call {response.id!r} of {response.name!r} to answer. "
                "Give the id of a call in its events."
            )


def answers_missing_call(session: Session, message: types.Content | None, invocation_id: str | None) -> bool:
    """Return True if the message, or the message of a resumed invocation, answers a call that is not in the events."""
    contents = []
    if isinstance(message, types.Content):
        contents.append(message)
    if invocation_id and session.may_contain_invocation(invocation_id):
        for event in events_of_invocation(session.events, invocation_id):
            if event.author == "user" and event.content:
                contents.append(event.content)
    responses = [part.function_response for content in contents for part in content.parts or []]
    ids = [response.id for response in responses if response and response.id]
    return any(find_call_event(session.events, call_id) is None for call_id in ids)


async def user_message_event(
    ctx: InvocationContext, message: types.Content | None, state_delta: dict[str, Any] | None
) -> Event:
    """Return the event of a user message; save its files as artifacts if the run config asks for it."""
    if message is None or not ctx.run_config.save_input_blobs_as_artifacts:
        return user_event(ctx, message, state_delta)
    saved = await save_input_blobs(
        ctx.artifact_service, session_args(ctx.session), message, ctx.invocation_id
    )
    event = user_event(ctx, saved.content, state_delta)
    event.actions.artifact_delta = saved.artifact_delta
    return event
