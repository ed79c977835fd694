"""Use of models: tokens and cost of people and API keys, counted by the day."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings

from sessions_app.process.pool import fetch_one
from sessions_app.store.sql.admission_limits import TODAY


@dataclass(frozen=True)
class Used:
    """Tokens and cost of an invocation or a model call."""

    tokens: int = 0
    cost: float = 0.0


NO_USE = Used()

ADD_USED = f"""
    INSERT INTO sessions_app_personusage AS u (user_id, day, tokens, cost)
    SELECT lease.user_id, {TODAY}, %(tokens)s::bigint, %(cost)s::float8 FROM lease
    WHERE %(tokens)s::bigint > 0 OR %(cost)s::float8 > 0
    ON CONFLICT (user_id) DO UPDATE SET day = EXCLUDED.day,
        tokens = EXCLUDED.tokens + CASE WHEN u.day = EXCLUDED.day THEN u.tokens ELSE 0 END,
        cost = EXCLUDED.cost + CASE WHEN u.day = EXCLUDED.day THEN u.cost ELSE 0 END
    RETURNING u.user_id"""  # noqa: S608
"""Part of a statement: counts the use for the person of `lease`, an earlier part with the session's `user_id`."""

ADD_USED_OF_KEY = f"""
    INSERT INTO sessions_app_keyusage AS u (key_id, day, tokens)
    SELECT k.id, {TODAY}, %(tokens)s::bigint FROM lease JOIN sessions_app_apikey k ON k.id = %(key)s::uuid
    WHERE %(tokens)s::bigint > 0 FOR KEY SHARE OF k
    ON CONFLICT (key_id) DO UPDATE SET day = EXCLUDED.day,
        tokens = EXCLUDED.tokens + CASE WHEN u.day = EXCLUDED.day THEN u.tokens ELSE 0 END
    RETURNING u.key_id"""  # noqa: S608
"""Part of a statement: counts the use for the API key of the parameter `key`, if `lease` has a row.

A key whose deletion is under way is waited for and left out: the check of the foreign key would fail the statement.
"""


async def add_used(session_id: UUID, used: Used) -> None:
    """Count the use of a model call outside of invocations. Do nothing when the session is erased."""
    await _add_used("id = %(owner)s", session_id, used)


async def add_used_by(user_pk: Any, used: Used) -> None:
    """Count the use of a model call without a session. Do nothing when the user has no session."""
    await _add_used("user_id = %(owner)s", user_pk, used)


async def _add_used(condition: str, owner: Any, used: Used) -> None:
    lease = f"SELECT user_id FROM sessions_app_session WHERE {condition} LIMIT 1"  # noqa: S608
    query = f"WITH lease AS ({lease}) {ADD_USED}"
    params = {
        "owner": owner,
        "tokens": used.tokens,
        "cost": used.cost,
        "time_zone": settings.TIME_ZONE,
    }
    await fetch_one(query, params)
