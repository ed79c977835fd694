"""How many invocations may run at once: asked by the statements that let one begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from sessions_app.db.pool import fetch_one, fetch_one_alone


@dataclass(frozen=True)
class Limits:
    """How many invocations may run at once; 0 is no limit.

    Attributes:
        of_app: by app, under "" for the other apps.
        of_person: of one person.
    """

    of_app: Mapping[str, int] = field(default_factory=dict)
    of_person: int = 0


NO_LIMITS = Limits()


async def fetch_one_counted(query: str, params: dict[str, Any], limits: Limits) -> TupleRow | None:
    """As `fetch_one`, for a statement with `EXCESS`: no two count the same at once. Without limits there is no lock."""
    params = {**params, "of_app": Jsonb(dict(limits.of_app)), "of_person": limits.of_person}
    of_app = [_LOCK_APP] if any(limits.of_app.values()) else []
    locks = [*of_app, *([_LOCK_PERSON] if limits.of_person else [])]
    return await fetch_one_alone(locks, query, params) if locks else await fetch_one(query, params)


EXCESS = """
CASE
    WHEN %(of_person)s BETWEEN 1 AND (
        SELECT count(*) FROM sessions_app_session b
        WHERE b.lease_owner <> '' AND b.user_id = s.user_id AND b.id <> s.id
    ) THEN 'person'
    WHEN coalesce(%(of_app)s ->> s.app_name, %(of_app)s ->> '', '0')::int BETWEEN 1 AND (
        SELECT count(*) FROM sessions_app_session b
        WHERE b.lease_owner <> '' AND b.app_name = s.app_name AND b.id <> s.id
    ) THEN 'app'
    ELSE ''
END"""
"""As SQL, which limit is exceeded by one that begins in the session `s`. Nothing is counted for what has no limit.

What ran in `s` itself may still look as if it did: it has ended while the statement waited for the session's row.
"""

_LOCK_APP = """
SELECT pg_advisory_xact_lock(hashtextextended('adk:app:' || app_name, 0))
FROM sessions_app_session WHERE id = %(session)s"""

_LOCK_PERSON = """
SELECT pg_advisory_xact_lock(hashtextextended('adk:person:' || user_id, 0))
FROM sessions_app_session WHERE id = %(session)s"""
