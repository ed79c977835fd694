"""Rows that the statement of an append inserts with its event: jobs, texts of model requests, errors of calls.

They are kept until then: a job without its event would run for a call that is not in the log, and an event without its
job would wait for ever. Texts repeat with each model call: a text is stored once, under an id, for all sessions.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from functools import partial
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


_JOB_COLUMNS = [field.name for field in fields(StagedJob)]
INSERT_JOBS = f"""
jobs AS (
    INSERT INTO sessions_app_tooljob (session_id, {", ".join(_JOB_COLUMNS)})
    SELECT s.id, {", ".join(f"j.{column}" for column in _JOB_COLUMNS)}
    FROM s, jsonb_populate_recordset(NULL::sessions_app_tooljob, %(jobs)s) AS j
    ON CONFLICT (session_id, call_id) DO NOTHING
)"""  # noqa: S608
"""Part of an append: inserts the rows of the parameter `jobs` into the session `s`; a call creates one job."""


def jobs_parameter(jobs: Iterable[StagedJob]) -> Jsonb:
    return Jsonb([asdict(job) for job in jobs], dumps=partial(json.dumps, default=str))


@dataclass(frozen=True)
class RecordedCall:
    """A model call, stored with the event of its answer.

    Attributes:
        texts: texts not stored yet for the session by this process, by their ids in hexadecimal.
    """

    body: str
    texts: Mapping[str, str] = field(default_factory=dict)


# The lock keeps `delete_unused_texts` from deleting a text to which this statement adds a reference. All appends
# insert texts in the order of their ids, so two appends cannot deadlock.
INSERT_TEXTS = """
texts_lock AS (
    SELECT s.id AS session_id, pg_advisory_xact_lock_shared(hashtext('adk:texts')) AS taken FROM s
), texts AS (
    INSERT INTO sessions_app_requesttext (id, text)
    SELECT t.id, t.text FROM texts_lock, unnest(%(text_ids)s::uuid[], %(texts)s::text[]) AS t(id, text)
    ON CONFLICT (id) DO NOTHING
), session_texts AS (
    INSERT INTO sessions_app_sessiontext (session_id, text_id)
    SELECT texts_lock.session_id, t.id FROM texts_lock, unnest(%(text_ids)s::uuid[]) AS t(id)
    ON CONFLICT (session_id, text_id) DO NOTHING
)"""
"""Part of an append: stores new texts, and the references of the session `s` to all texts."""


def texts_parameters(call: RecordedCall | None) -> dict[str, list[str]]:
    texts = sorted(call.texts.items()) if call else []
    return {"text_ids": [name for name, _text in texts], "texts": [text for _name, text in texts]}


@dataclass(frozen=True)
class StagedError:
    """Columns of `CallError` known before the commit of the event."""

    call_id: str
    tool_name: str
    error: str
    detail: str


_ERROR_COLUMNS = [field.name for field in fields(StagedError)]
INSERT_ERRORS = f"""
errors AS (
    INSERT INTO sessions_app_callerror (session_id, seq, {", ".join(_ERROR_COLUMNS)})
    SELECT s.id, s.last_seq, {", ".join(f"e.{column}" for column in _ERROR_COLUMNS)}
    FROM s, jsonb_populate_recordset(NULL::sessions_app_callerror, %(errors)s::jsonb) AS e
)"""  # noqa: S608
"""Part of an append: inserts the rows of the parameter `errors` for the new event of the session `s`."""


def errors_parameter(errors: Iterable[StagedError]) -> str:
    return json.dumps([asdict(error) for error in errors])
