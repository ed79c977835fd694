"""The message that wakes an agent for a scheduled task: made by the sweep, known again by the run and the page."""

from __future__ import annotations

from typing import Any

from runtime import types
from runtime.events import Event
from sessions_app.client_ids import SCHEDULE

IT_IS_TIME = (
    "It is time for a task that was scheduled earlier in this conversation. Nobody has typed this just now: "
    "do the task, and tell what came of it. The task:"
)
SCHEDULED = "adk_scheduled"


def wake_up(task: str) -> types.Content:
    """What the agent is told: that it is time, then the task as it was scheduled."""
    return types.UserContent(parts=[types.Part(text=IT_IS_TIME), types.Part(text=task)])


def is_wake_up(client_id: str) -> bool:
    """Whether an invocation was begun by a scheduled task."""
    return client_id.startswith(SCHEDULE)


def metadata_of(client_id: str) -> dict[str, Any] | None:
    """What the events of an invocation carry: the task and run that began it; None for others."""
    return {SCHEDULED: client_id.removeprefix(SCHEDULE)} if is_wake_up(client_id) else None


def task_in(event: Event) -> str | None:
    """The task, when the event is such a message; None when it is anything else."""
    if event.author != "user" or SCHEDULED not in (event.custom_metadata or {}):
        return None
    texts = [part.text for part in (event.content.parts or []) if part.text] if event.content else []
    return texts[-1] if texts else None
