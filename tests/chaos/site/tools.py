"""Tools of the obedient agents: write state, save files, start jobs, ask for confirmation, schedule tasks."""

from __future__ import annotations

import time
from contextlib import suppress

from runtime import types
from runtime.tools import FunctionTool, ToolContext
from sessions_app.jobs import confirm, job_tool, progress, save_artifact
from sessions_app.scheduling import schedule_task

SHARED_PREFIXES = ("user:", "app:")


def note(what: str, tool_context: ToolContext) -> str:
    """Increment a counter in every scope, and one counter of this session in each shared scope."""
    session_keys = [f"{prefix}notes_{tool_context.session.id}" for prefix in SHARED_PREFIXES]
    for key in ("notes", "user:notes", "app:notes", *session_keys):
        tool_context.state[key] = (tool_context.state.get(key) or 0) + 1  # None after a rewind
    return what


async def keep(what: str, tool_context: ToolContext) -> dict[str, str]:
    """Save a file, load it and search the memory. All of it is ORM code in the threads of the process."""
    version = await tool_context.save_artifact("kept.txt", types.Part.from_text(text=what))
    kept = await tool_context.load_artifact("kept.txt", version)
    await tool_context.search_memory(what)
    return {"kept": (kept and kept.text) or ""}


def delete(what: str) -> dict[str, str]:
    """Delete something, after a confirmation."""
    return {"deleted": what}


def forget(what: str) -> dict[str, str]:
    """Forget something, after a confirmation that nobody gives."""
    return {"forgotten": what}


@job_tool
def resist(what: str) -> dict[str, str]:
    """Work for ever, whatever asks the function to end."""
    while True:
        with suppress(BaseException):
            time.sleep(60)
            progress(0, 1, what)


@job_tool
def work(what: str) -> dict[str, str]:
    """Work for a while."""
    return _work_slowly(what)


@job_tool
def work_if_wanted(what: str) -> dict[str, str]:
    """Ask the person, then work for a while."""
    if not confirm(f"Shall I work on {what}?"):
        return {"left_alone": what}
    return _work_slowly(what)


def _work_slowly(what: str) -> dict[str, str]:
    for step in range(10):
        time.sleep(0.05)
        progress(step + 1, 10, what)
    save_artifact("work.txt", types.Part.from_text(text=what))
    return {"worked_on": what}


TOOLS = [
    note,
    keep,
    FunctionTool(delete, require_confirmation=True),
    FunctionTool(forget, require_confirmation=True),
    resist,
    work,
    work_if_wanted,
    schedule_task,
]
