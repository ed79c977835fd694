"""Start of an invocation: its message, and what an earlier attempt has recorded (contract L2, L10, R1, T5)."""

from collections.abc import Sequence
from typing import Any

from runtime import types
from runtime.artifacts.input_blobs import save_input_blobs
from runtime.context import AgentProtocol, InvocationContext, session_args
from runtime.engine.build_events import user_event
from runtime.engine.resume.agent_progress import find_latest_start, recorded_states
from runtime.errors import InvalidMessageError, InvocationNotFoundError, UnknownCallError, with_article
from runtime.events.calls import MadeCalls, answered_call_events, events_of_invocation, find_call_event
from runtime.events.event import Event, index_of
from runtime.models.llm_response import responses_in
from runtime.sessions.session import Session


def check_message(message: types.Content | None, events: Sequence[Event]) -> None:
    """Check that a message is a content whose function responses answer calls in `events`.

    Raises:
        InvalidMessageError: the message is not a content.
        UnknownCallError: the message answers a call that is not in `events`.
    """
    if message is None:
        return
    # Python does not check the annotation, and a plain text in place of a content is an easy mistake.
    if not isinstance(message, types.Content):
        raise InvalidMessageError(
            f"new_message is {with_article(type(message).__name__)}. Give a types.Content, such as "
            "types.UserContent('Hello')."
        )
    for response in responses_in(message):
        if response.id and find_call_event(events, response.id) is None:
            raise UnknownCallError(
                f"Function call not found: the session has no call {response.id!r} of {response.name!r} to answer. "
                "Give the id of a call in its events."
            )


def answers_missing_call(session: Session, message: types.Content | None, invocation_id: str | None) -> bool:
    """Return True if the message, or the message of a resumed invocation, answers a call that is not in the events."""
    responses: list[types.FunctionResponse] = []
    if isinstance(message, types.Content):
        responses += responses_in(message)
    if invocation_id and session.may_contain_invocation(invocation_id):
        for event in events_of_invocation(session.events, invocation_id):
            if event.author == "user":
                responses += event.get_function_responses()
    for response in responses:
        if response.id and find_call_event(session.events, response.id) is None:
            return True
    return False


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


def find_answered_invocation(events: Sequence[Event], message: types.Content) -> str | None:
    answered = answered_call_events(events, message)
    if not answered:
        return None
    return answered[0].invocation_id


def prepare_resume(ctx: InvocationContext, root: AgentProtocol, message: types.Content | None) -> None:
    """Set the context to the progress recorded in the invocation's events.

    A message that answers a call which no longer waits starts new work, so the context then has no progress.
    """
    events = ctx.events()
    ctx.user_content = next((event.content for event in events if event.author == "user"), None)
    start = 0
    if _has_late_answer(ctx.updated_log().made, message):
        with_message = [*events]
        if message:
            with_message.append(user_event(ctx, message))
        start = find_latest_start(with_message)
        ctx.scope.log = None
    # The message has no event yet. If it starts new work, its event will be the first of this work.
    ctx.scope.begins_at = len(ctx.session.events)
    if start < len(events):
        ctx.scope.begins_at = index_of(ctx.session.events, events[start])
    # Again: `begins_at` has cut off earlier work.
    events = ctx.events()
    ctx.resuming = any(event.author != "user" for event in events)
    ctx.scope.agent_states, ctx.scope.ended = recorded_states(root, events)


def _has_late_answer(made: MadeCalls, message: types.Content | None) -> bool:
    """Return True if the message, or an event before it, answers a call whose wait had ended."""
    for response in responses_in(message):
        if response.id and not made.waits(response.id):
            return True
    return any(call.is_answered_again for call in made.in_order)


def nothing_to_run_error(session: Session, invocation_id: str | None) -> InvocationNotFoundError:
    """Return the error for a run without a message and without events to resume."""
    if invocation_id is None:
        return InvocationNotFoundError(
            "run_async needs a new_message, or the invocation_id of an invocation to resume."
        )
    return InvocationNotFoundError(f"Session {session.id!r} has no invocation {invocation_id!r} to resume.")
