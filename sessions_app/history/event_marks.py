"""Marks of the site in the custom metadata of events, with their readers.

The keys are part of the stored log and of the event frames; the chat page's JavaScript reads `adk_resumed`.
"""

from collections.abc import Mapping
from typing import Any

from runtime import types
from runtime.events import Event as RuntimeEvent
from runtime.models.llm_response import parts_in
from sessions_app.base.actors import ActorKind
from sessions_app.base.client_ids import SCHEDULE

RESUMED = "adk_resumed"
STOPPED_BY = "adk_stopped_by"
SCHEDULED = "adk_scheduled"
ANSWER = "adk_answer"
RECALLED = "adk_recalled"
FAILED_TOOL = "adk_failed_tool"

INTERRUPTED_CALL = "The call was interrupted; it may have had effects."
"""Response of a call still running when its invocation was stopped."""

STOPPED_CALL = "Staff stopped this before it was answered."
"""Response of a call still waiting for an answer when its invocation was stopped."""

IT_IS_TIME = (
    "It is time for a task that was scheduled earlier in this conversation. Nobody has typed this just now: "
    "do the task, and tell what came of it. The task:"
)


def resumed_mark(lease_token: int) -> dict[str, Any]:
    """Return the mark of the event with the news of a resumed invocation."""
    return {RESUMED: lease_token}


def is_resumed(event: RuntimeEvent) -> bool:
    """True if the event has the news of a resumed invocation."""
    return RESUMED in (event.custom_metadata or {})


def stopped_by_staff_mark() -> dict[str, Any]:
    """Return the mark of an interrupted event whose invocation a member of staff stopped."""
    return {STOPPED_BY: "staff"}


def failed_tool_mark(tool_name: str) -> dict[str, Any]:
    """Return the mark of the error event of an invocation that ended with the exception of a tool."""
    return {FAILED_TOOL: tool_name}


def is_stopped_by_staff(event: RuntimeEvent) -> bool:
    """True if a member of staff, not the session's user, stopped the event's invocation."""
    return STOPPED_BY in (event.custom_metadata or {})


def scheduled_mark(client_id: str) -> dict[str, Any] | None:
    """Return the mark for the events of a scheduled task's invocation; None for other invocations."""
    if not is_wake_up(client_id):
        return None
    return {SCHEDULED: client_id.removeprefix(SCHEDULE)}


def answer_mark(invocation_id: str, actor_kind: str, actor_name: str) -> dict[str, Any]:
    """Return the mark for the events of an answering invocation.

    Args:
        actor_kind: kind of the actor who answered.
        actor_name: name of the actor; part of the mark for staff only.
    """
    # The events may have the id of the calling invocation, so the mark has the own id, which leads to the row with
    # the actor. The log needs no name of the session's user.
    mark = {"invocation": invocation_id, "by": actor_kind}
    if actor_kind == ActorKind.STAFF:
        mark["name"] = actor_name
    return {ANSWER: mark}


def writer_of(invocation_id: str | None, custom_metadata: Mapping[str, Any] | None) -> str:
    """Return the id of the invocation that wrote an event with these values.

    The event of an answer may have the id of the calling invocation. Then the mark has the id of the writer.
    """
    mark = (custom_metadata or {}).get(ANSWER)
    # A client of the ADK API may append an event with any JSON as the mark.
    if isinstance(mark, Mapping) and mark.get("invocation"):
        return str(mark["invocation"])
    return invocation_id or ""


def answerer_in(event: RuntimeEvent) -> tuple[str, str]:
    """Return kind and name of the actor behind the answer in the event.

    Both are empty for an answer of the session's person. The name is empty for an answer of the site, too.
    """
    mark = (event.custom_metadata or {}).get(ANSWER)
    if not isinstance(mark, Mapping) or mark.get("by") not in (ActorKind.STAFF, ActorKind.SITE):
        return "", ""
    return str(mark["by"]), str(mark.get("name") or "")


def has_recalled(event: RuntimeEvent) -> bool:
    """True if a search of the memory has found something before the event, in the same invocation."""
    return bool((event.custom_metadata or {}).get(RECALLED))


def is_wake_up(client_id: str) -> bool:
    """True if the client id is that of a scheduled task's invocation."""
    return client_id.startswith(SCHEDULE)


def wake_up(task: str) -> types.Content:
    """Return the message to the agent for a run of a scheduled task."""
    return types.UserContent(parts=[types.Part(text=IT_IS_TIME), types.Part(text=task)])


def scheduled_task_in(event: RuntimeEvent) -> str | None:
    """Return the task of a `wake_up` message; None for every other event."""
    if event.author != "user" or SCHEDULED not in (event.custom_metadata or {}):
        return None
    # The parts are those of `wake_up`: the task comes last.
    task = None
    for part in parts_in(event.content):
        if part.text:
            task = part.text
    return task
