"""Limits on invocations at once, on the queue, and on the use of a day.

The statements that queue or claim an invocation check them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from sessions_app.process.pool import fetch_one, fetch_one_under_locks


@dataclass(frozen=True)
class ConcurrencyLimits:
    """Limits on invocations that run or wait, and on the use of a day; 0 is no limit.

    Attributes:
        of_app: numbers of invocations at once by app name; the key "" holds the limit of all other apps.
        of_person: number of invocations of a user at once.
        queued: number of messages of a user that may wait for their turn.
        tokens: number of tokens of a user in a day.
        cost: cost of a user in a day.
    """

    of_app: Mapping[str, int] = field(default_factory=dict)
    of_person: int = 0
    queued: int = 0
    tokens: int = 0
    cost: float = 0.0

    def without_numbers(self) -> ConcurrencyLimits:
        """Return only the limits on use, for answers, results of jobs and scheduled tasks, which must not be lost."""
        return ConcurrencyLimits(tokens=self.tokens, cost=self.cost)


NO_LIMITS = ConcurrencyLimits()


async def fetch_one_counted(query: str, params: dict[str, Any], limits: ConcurrencyLimits) -> TupleRow | None:
    """Run a statement that contains `EXCESS` and `EXCESS_OF_DAY` and return its first row.

    Advisory locks let only one such statement count the same app or user at a time. Without limits no lock is taken.
    """
    params = {
        **params,
        "of_app": Jsonb(dict(limits.of_app)),
        "of_person": limits.of_person,
        "most_queued": limits.queued,
        "most_tokens": limits.tokens,
        "most_cost": limits.cost,
        "time_zone": settings.TIME_ZONE,
    }
    app_lock = [_LOCK_APP] if any(limits.of_app.values()) else []
    locks = [*app_lock, *([_LOCK_PERSON] if limits.of_person else [])]
    return await fetch_one_under_locks(locks, query, params) if locks else await fetch_one(query, params)


EXCESS = "adk_excess(s.id, %(of_person)s::int, %(of_app)s)"
"""SQL expression: the limit that an invocation of the session `s` exceeds if it begins now: 'person', 'app' or ''."""

TODAY = "(now() AT TIME ZONE %(time_zone)s::text)::date"
"""SQL expression: today's date in the site's time zone."""

EXCESS_OF_DAY = f"""
coalesce((
    SELECT CASE
        WHEN %(most_tokens)s::bigint BETWEEN 1 AND u.tokens THEN 'tokens'
        WHEN %(most_cost)s::float8 > 0 AND u.cost >= %(most_cost)s::float8 THEN 'cost'
    END FROM sessions_app_personusage u WHERE u.user_id = s.user_id AND u.day = {TODAY}
), '')"""  # noqa: S608
"""SQL expression: the limit of a day that the user of the session `s` has used up: 'tokens', 'cost' or ''."""


def key_has_spent(key: str) -> str:
    """Return an SQL expression: True when the API key has used up its tokens of the day.

    Args:
        key: SQL expression of the key's id.
    """
    return f"adk_key_has_spent({key}, {TODAY})"


_LOCK_APP = """
SELECT pg_advisory_xact_lock(hashtextextended('adk:app:' || app_name, 0))
FROM sessions_app_session WHERE id = %(session)s"""

_LOCK_PERSON = """
SELECT pg_advisory_xact_lock(hashtextextended('adk:person:' || user_id, 0))
FROM sessions_app_session WHERE id = %(session)s"""
