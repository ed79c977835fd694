"""Exceptions of tools, stored in the transaction of the event that answers the tools' calls."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True)
class StagedError:
    """Columns of `CallError` known before the commit of the event."""

    call_id: str
    tool_name: str
    error: str
    detail: str


_COLUMNS = [field.name for field in fields(StagedError)]

INSERT_ERRORS = f"""
errors AS (
    INSERT INTO sessions_app_callerror (session_id, seq, {", ".join(_COLUMNS)})
    SELECT s.id, s.last_seq, {", ".join(f"e.{column}" for column in _COLUMNS)}
    FROM s, jsonb_populate_recordset(NULL::sessions_app_callerror, %(errors)s::jsonb) AS e
)"""  # noqa: S608
"""Part of an append: inserts the rows of the parameter `errors` for the new event of the session `s`."""


def errors_parameter(errors: Iterable[StagedError]) -> str:
    return json.dumps([asdict(error) for error in errors])
