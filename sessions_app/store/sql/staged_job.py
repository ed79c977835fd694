"""Staged job: a job kept until the statement that appends its event inserts it.

A job without its event would run for a call that is not in the log; an event without its job would wait for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from functools import partial
from json import dumps
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb


@dataclass(frozen=True)
class StagedJob:
    """Columns of `ToolJob` known before the commit of the event.

    Attributes:
        run_at: the earliest start; None for an immediate start.
    """

    id: UUID
    invocation_id: str
    call_id: str
    tool_name: str
    task_name: str
    agent_name: str
    args: dict[str, Any]
    run_at: datetime | None = None


_COLUMNS = [field.name for field in fields(StagedJob)]

INSERT_JOBS = f"""
jobs AS (
    INSERT INTO sessions_app_tooljob (session_id, {", ".join(_COLUMNS)})
    SELECT s.id, {", ".join(f"j.{column}" for column in _COLUMNS)}
    FROM s, jsonb_populate_recordset(NULL::sessions_app_tooljob, %(jobs)s) AS j
    ON CONFLICT (session_id, call_id) DO NOTHING
)"""  # noqa: S608
"""Part of an append: inserts the rows of the parameter `jobs` into the session `s`; a call creates one job."""


def jobs_parameter(jobs: Iterable[StagedJob]) -> Jsonb:
    return Jsonb([asdict(job) for job in jobs], dumps=partial(dumps, default=str))
