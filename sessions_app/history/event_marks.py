"""Marks in the custom metadata of events that the site writes, with their readers.

The keys are part of the stored log and of the event frames; the chat page's JavaScript reads `adk_resumed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime import types
from runtime.events import Event
from sessions_app.base.actors import ActorKind
from sessions_app.base.client_ids import SCHEDULE

RESUMED = "adk_resumed"
STOPPED_BY = "adk_stopped_by"
SCHEDULED = "adk_scheduled"
ANSWER = "adk_answer"

INTERRUPTED_CALL = "The call was interrupted; it may have had effects."
"""The response of a call that ran when its invocation was stopped."""

STOPPED_CALL = "Staff stopped this before it was answered."
"""The response of a call that waited for somebody when its invocation was stopped."""

IT_IS_TIME = (
    "It is time for a task that was scheduled earlier in this conversation. Nobody has typed this just now: "
    "do the task, and tell what came of it. The task:"
)


def resumed_mark(lease_token: int) -> dict[str, Any]:
    """Return the mark of an event that says an invocation was resumed under this lease."""
    return {RESUMED: lease_token}


def is_resumed(event: Event) -> bool:
    """True when the event says that an invocation was resumed."""
    return RESUMED in (event.custom_metadata or {})


def stopped_by_staff_mark() -> dict[str, Any]:
    """Return the mark of an interrupted event whose invocation a member of staff stopped."""
    return {STOPPED_BY: "staff"}


def is_stopped_by_staff(event: Event) -> bool:
    """True when a member of staff, not the session's user, stopped the event's invocation."""
    return STOPPED_BY in (event.custom_metadata or {})


def scheduled_mark(client_id: str) -> dict[str, Any] | None:
    """Return the mark for the events of an invocation that a scheduled task began; None for other invocations."""
    return {SCHEDULED: client_id.removeprefix(SCHEDULE)} if is_wake_up(client_id) else None


def answer_mark(invocation_id: str, actor_kind: str, actor_name: str) -> dict[str, Any]:
    """Return the mark for the events of an invocation that answers a call.

    These events may have the id of the invocation that made the call.

    Args:
        invocation_id: the invocation's own id, by which its row with the actor is found.
        actor_kind: kind of the actor who answered.
        actor_name: name of the actor; the mark has it for staff only.
    """
    name = {"name": actor_name} if actor_kind == ActorKind.STAFF else {}
    return {ANSWER: {"invocation": invocation_id, "by": actor_kind, **name}}


def writer_of(invocation_id: str | None, custom_metadata: Mapping[str, Any] | None) -> str:
    """Return the id of the invocation that wrote an event with these values.

    The event of an answer may have the id of the invocation that made the call; its mark has the answer's own.
    """
    mark = (custom_metadata or {}).get(ANSWER)
    own = mark.get("invocation") if isinstance(mark, Mapping) else None
    return str(own or invocation_id or "")


def answerer_in(event: Event) -> tuple[str, str]:
    """Return kind and name of the actor who gave the answer in the event, other than the session's person.

    Both are empty for an answer of the person. The name is empty for an answer of the site, too.
    """
    mark = (event.custom_metadata or {}).get(ANSWER)
    if not isinstance(mark, Mapping) or mark.get("by") not in (ActorKind.STAFF, ActorKind.SITE):
        return "", ""
    return str(mark["by"]), str(mark.get("name") or "")


def is_wake_up(client_id: str) -> bool:
    """True when a scheduled task began the invocation."""
    return client_id.startswith(SCHEDULE)


def wake_up(task: str) -> types.Content:
    """Return the message that wakes the agent for a scheduled task."""
    return types.UserContent(parts=[types.Part(text=IT_IS_TIME), types.Part(text=task)])


def scheduled_task_in(event: Event) -> str | None:
    """Return the task of a `wake_up` message; None for every other event."""
    if event.author != "user" or SCHEDULED not in (event.custom_metadata or {}):
        return None
    texts = [part.text for part in (event.content.parts or []) if part.text] if event.content else []
    return texts[-1] if texts else None
