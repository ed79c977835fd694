"""Records of acts on a session, inserted by a statement of their own or as a part of the statement of the act."""

from __future__ import annotations

import json

from sessions_app.actors import SITE, Act, ActionKind

_COLUMNS = tuple(Act(SITE, ActionKind.ADD, ("", "")).columns())


def insert_act(source: str, seq: str = "NULL::bigint") -> str:
    """Return an INSERT that records the parameter `act` for each row of a source.

    Args:
        source: name of a table, or a subquery, with the ids of sessions as `id`.
        seq: SQL expression of the `seq` of the event that the act has appended.
    """
    return f"""
    INSERT INTO sessions_app_sessionact (session_id, seq, {", ".join(_COLUMNS)})
    SELECT source.id, {seq}, {", ".join(f"a.{column}" for column in _COLUMNS)}
    FROM {source} AS source, jsonb_populate_record(NULL::sessions_app_sessionact, %(act)s::jsonb) AS a"""  # noqa: S608


# Lock order: session row first. The check of the foreign key would lock the row later, after others.
LOCKED_SESSION = "(SELECT id FROM sessions_app_session WHERE id = %(session)s FOR KEY SHARE)"
INSERT_ACT = insert_act(LOCKED_SESSION)


def act_parameter(act: Act) -> str:
    """Return the parameter `act`, as JSON."""
    return json.dumps(act.columns())
