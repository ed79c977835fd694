"""Jobs on their way into the database: created in the transaction of the event that records their call.

A tool runs before its response event is committed. It leaves its job here under the call's id; the session service
takes it from here into the append's one statement.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from runtime.events.calls import response_ids
from runtime.events.event import Event
from sessions_app.models import JobStatus, ToolJob

_staged: dict[tuple[str, str], dict[str, Any]] = {}


def stage_job(job: dict[str, Any]) -> None:
    """Leave a job row for the event that will answer its call with "pending"."""
    _staged[job["invocation_id"], job["call_id"]] = job


def staged_jobs(event: Event) -> list[dict[str, Any]]:
    """Take the jobs whose calls the event answers."""
    if not _staged:
        return []
    keys = [(event.invocation_id, call_id) for call_id in response_ids(event)]
    return [_staged.pop(key) for key in keys if key in _staged]


def created_job(session_id: UUID, job: dict[str, Any]) -> ToolJob:
    """The row that a staged job has become."""
    run_at = job["run_at"] and datetime.fromisoformat(job["run_at"])
    return ToolJob(**{**job, "session_id": session_id, "status": JobStatus.QUEUED, "run_at": run_at})


def forget_staged(invocation_id: str) -> None:
    """Drop what an invocation staged and never committed: its calls have not happened."""
    for key in [key for key in _staged if key[0] == invocation_id]:
        del _staged[key]
