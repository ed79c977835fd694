"""Limits on invocations at once, checked by the statements that claim an invocation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from sessions_app.db.pool import fetch_one, fetch_one_under_locks


@dataclass(frozen=True)
class Limits:
    """Numbers of invocations that may run at once; 0 is no limit.

    Attributes:
        of_app: limits by app name; the key "" holds the limit of all other apps.
        of_person: the limit of each user.
    """

    of_app: Mapping[str, int] = field(default_factory=dict)
    of_person: int = 0


NO_LIMITS = Limits()


async def fetch_one_counted(query: str, params: dict[str, Any], limits: Limits) -> TupleRow | None:
    """Run a statement that contains `EXCESS` and return its first row.

    Advisory locks let only one such statement count the same app or user at a time. Without limits no lock is taken.
    """
    params = {**params, "of_app": Jsonb(dict(limits.of_app)), "of_person": limits.of_person}
    app_lock = [_LOCK_APP] if any(limits.of_app.values()) else []
    locks = [*app_lock, *([_LOCK_PERSON] if limits.of_person else [])]
    return await fetch_one_under_locks(locks, query, params) if locks else await fetch_one(query, params)


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
"""SQL expression: the limit that an invocation of the session `s` exceeds if it begins now: 'person', 'app' or ''.

Nothing is counted where no limit is set. `s` itself is left out: its last invocation may have ended while the
statement waited for the session's row, but its old lease is still visible to the statement.
"""

_LOCK_APP = """
SELECT pg_advisory_xact_lock(hashtextextended('adk:app:' || app_name, 0))
FROM sessions_app_session WHERE id = %(session)s"""

_LOCK_PERSON = """
SELECT pg_advisory_xact_lock(hashtextextended('adk:person:' || user_id, 0))
FROM sessions_app_session WHERE id = %(session)s"""
