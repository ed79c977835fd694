"""Jobs on their way into the database: created in the transaction of the event with their call's response.

A tool runs before its response event is committed. It leaves its job here under the id of its call, and the session
service takes the job into the statement that appends the event. A job inserted by the tool itself could run although
its event is never committed. At the end of the run, jobs without an event are dropped.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.events.calls import ResponseStatus, response_ids
from runtime.events.event import Event as RuntimeEvent
from runtime.valid_text import storable_values
from sessions_app.models import JobStatus, ToolJob
from sessions_app.store.sql.event_rows import StagedJob

# The tasks of a run inherit the context and share the dict; parallel runs of the process have other contexts.
_staged: ContextVar[dict[tuple[str, str], StagedJob] | None] = ContextVar("staged jobs", default=None)
"""Jobs of the run, by the ids of their invocation and call."""


@contextmanager
def staging() -> Iterator[None]:
    """Let tools stage jobs within the block. Jobs without an event at the end of the block are dropped."""
    token = _staged.set({})
    try:
        yield
    finally:
        _staged.reset(token)


def stage_job(job: StagedJob) -> None:
    """Keep a job for the event with the pending response to its call. Outside of `staging` the job is dropped."""
    staged = _staged.get()
    if staged is not None:
        staged[job.invocation_id, job.call_id] = job


def stage_call(
    tool_name: str,
    task_name: str,
    args: dict[str, Any],
    tool_context: Context,
    run_at: datetime | None = None,
) -> dict[str, Any]:
    """Stage a job for the call of this context, and return the pending response.

    Args:
        run_at: start time of the job; None starts it as soon as a worker is free.

    Raises:
        ConfigurationError: the context belongs to no function call.
    """
    call_id = tool_context.function_call_id
    if call_id is None:
        raise ConfigurationError(f"Job tool {tool_name!r} runs only as the answer to a function call.")
    job = StagedJob(
        id=uuid4(),
        invocation_id=tool_context.invocation_id,
        call_id=call_id,
        tool_name=tool_name,
        task_name=task_name,
        agent_name=tool_context.agent_name,
        args=storable_values(args),
        run_at=run_at,
    )
    stage_job(job)
    return {"status": ResponseStatus.QUEUED.value, "job_id": str(job.id)}


def take_staged_jobs(event: RuntimeEvent) -> list[StagedJob]:
    """Return the jobs of the calls answered by the event, and forget them."""
    staged = _staged.get()
    if not staged:
        return []
    keys = [(event.invocation_id, call_id) for call_id in response_ids(event)]
    return [staged.pop(key) for key in keys if key in staged]


def created_job(session_id: UUID, job: StagedJob) -> ToolJob:
    """Return the row of a staged job as inserted with its event, without a query."""
    return ToolJob(session_id=session_id, status=JobStatus.QUEUED, **asdict(job))
