"""The message of an invocation, and the event with which an attempt has committed it."""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime import types
from runtime.events.calls import ids_answered_by, response_ids
from runtime.events.event import Event as RuntimeEvent
from sessions_app.history.event_marks import answer_mark, scheduled_mark
from sessions_app.store.sql.leases import Claim


def answers_calls(message: Mapping[str, Any]) -> bool:
    """Return True if the message of an invocation is a function response."""
    return any("functionResponse" in part for part in message.get("parts", []))


def marks_of(claim: Claim) -> dict[str, Any] | None:
    """Return the marks for the events of an answer to a call or a run of a scheduled task; None for others."""
    if answers_calls(claim.message):
        return answer_mark(claim.invocation_id, claim.actor_kind, claim.actor_name)
    return scheduled_mark(claim.client_id)


def find_message_event(
    invocation_id: str, message: dict[str, Any], events: Sequence[RuntimeEvent]
) -> RuntimeEvent | None:
    """Return the event of the invocation's message; None when no attempt has committed the message."""
    # Also by call ids: the event of a function response may have the id of the call's invocation (contract R1).
    answered = ids_answered_by(types.Content.model_validate(message))
    for event in reversed(events):
        if event.author == "user" and (
            event.invocation_id == invocation_id or answered & response_ids(event)
        ):
            return event
    return None


def index_of_message(events: Sequence[RuntimeEvent], message_event: RuntimeEvent) -> int:
    return next(index for index, event in enumerate(events) if event is message_event)


def without_failures(message_event: RuntimeEvent | None, events: list[RuntimeEvent]) -> list[RuntimeEvent]:
    """Return the events for another attempt, without the errors and interrupted texts after the message."""
    if message_event is None:
        return events
    first = index_of_message(events, message_event)
    # Errors before the message belong to earlier invocations, and the model may read them.
    return [*events[:first], *(e for e in events[first:] if not (e.error_code or e.interrupted))]
