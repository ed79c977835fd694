"""What the agents of the chaos suite can do: write state, start jobs, ask the person, come back later."""

from __future__ import annotations

import time

from runtime.tools import FunctionTool, ToolContext
from sessions_app.jobs import confirm, job_tool, progress
from sessions_app.scheduling import schedule_task

SHARED = ("user:", "app:")


def note(what: str, tool_context: ToolContext) -> str:
    """Count what was noted, in every scope; in those that sessions share also under a key of this one's."""
    own = [f"{scope}notes_{tool_context.session.id}" for scope in SHARED]
    for key in ("notes", "user:notes", "app:notes", *own):
        tool_context.state[key] = (tool_context.state.get(key) or 0) + 1  # None after a rewind
    return what


def delete(what: str) -> dict[str, str]:
    """Only if the person says so."""
    return {"deleted": what}


@job_tool
def work(what: str) -> dict[str, str]:
    """Take a while."""
    return _work(what)


@job_tool
def work_if_wanted(what: str) -> dict[str, str]:
    """Ask the person, and only then take a while."""
    if not confirm(f"Shall I work on {what}?"):
        return {"left_alone": what}
    return _work(what)


def _work(what: str) -> dict[str, str]:
    for step in range(10):
        time.sleep(0.05)
        progress(step + 1, 10, what)
    return {"worked_on": what}


TOOLS = [note, FunctionTool(delete, require_confirmation=True), work, work_if_wanted, schedule_task]
