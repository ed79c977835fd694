"""Record of acts on a session, as a statement of its own or as a part of the statement that does the act."""

from __future__ import annotations

import json

from sessions_app.actors import SITE, Act, ActionKind

_COLUMNS = tuple(Act(SITE, ActionKind.ADD, ("", "")).columns())


def insert_act(source: str, seq: str = "NULL::bigint") -> str:
    """Return an INSERT of the parameter `act` for each row of the source, whose `id` is that of a session."""
    return f"""
    INSERT INTO sessions_app_sessionact (session_id, seq, {", ".join(_COLUMNS)})
    SELECT source.id, {seq}, {", ".join(f"a.{column}" for column in _COLUMNS)}
    FROM {source} AS source, jsonb_populate_record(NULL::sessions_app_sessionact, %(act)s::jsonb) AS a"""  # noqa: S608


# Lock order: session row first. The lock of the foreign key would be taken at the end of the transaction.
LOCKED_SESSION = "(SELECT id FROM sessions_app_session WHERE id = %(session)s FOR KEY SHARE)"
INSERT_ACT = insert_act(LOCKED_SESSION)


def act_parameter(act: Act) -> str:
    """Return the parameter `act`, as JSON."""
    return json.dumps(act.columns())
