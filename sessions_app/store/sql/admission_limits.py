"""Limits on invocations at once, on the queue, and on the use of a day.

The statements that queue or claim an invocation check the limits, and return the name of an exceeded limit. With a
separate statement for the check, two messages could pass a limit together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.conf import settings
from psycopg.types.json import Jsonb

from sessions_app.process.pool import Row, fetch_one, fetch_one_under_locks


class AdmissionRefusal(StrEnum):
    """Why a message is refused (the first three), or its invocation ends before its run (the others).

    The values are the names in SQL.
    """

    POLICY = "policy"
    """The app's queue policy `reject`: another invocation of the session is active."""
    QUEUE = "queue"
    """Queued messages of the user."""
    KEY = "key"
    """Tokens of an API key in a day; checked again when the invocation begins."""
    USER = "person"
    """Invocations of the user at once."""
    APP = "app"
    """Invocations of the app at once."""
    TOKENS = "tokens"
    """Tokens of the user in a day."""
    COST = "cost"
    """Cost of the user in a day."""

    @classmethod
    def named(cls, name: str) -> "AdmissionRefusal | None":
        """Return the limit with this name in SQL, in which '' is none."""
        return cls(name) if name else None


@dataclass(frozen=True)
class AdmissionLimits:
    """Limits on invocations that run or wait, and on the use of a day; 0 is no limit.

    Attributes:
        of_app: numbers of invocations at once by app name; the key "" holds the limit of all other apps.
        of_user: number of invocations of a user at once.
        queued: number of queued messages of a user.
        tokens: number of tokens of a user in a day.
        cost: cost of a user in a day.
    """

    of_app: Mapping[str, int] = field(default_factory=dict)
    of_user: int = 0
    queued: int = 0
    tokens: int = 0
    cost: float = 0.0

    def only_of_day(self) -> "AdmissionLimits":
        """Return only the limits on use, for answers, results of jobs and scheduled tasks, which must not be lost."""
        return AdmissionLimits(tokens=self.tokens, cost=self.cost)


NO_LIMITS = AdmissionLimits()


async def fetch_one_counted(query: str, params: dict[str, Any], limits: AdmissionLimits) -> Row | None:
    """Run a statement that contains `EXCEEDED_NOW` and `EXCEEDED_TODAY` and return its first row."""
    params = {
        **params,
        "of_app": Jsonb(dict(limits.of_app)),
        "of_user": limits.of_user,
        "most_queued": limits.queued,
        "most_tokens": limits.tokens,
        "most_cost": limits.cost,
        "time_zone": settings.TIME_ZONE,
    }
    # Two statements that count at the same time would each miss the other's invocation, and both pass the limit.
    # Without limits no lock is taken. All callers lock the app before the user, so they cannot deadlock.
    locks = []
    if any(limits.of_app.values()):
        locks.append(_LOCK_APP)
    if limits.of_user:
        locks.append(_LOCK_USER)
    if locks:
        return await fetch_one_under_locks(locks, query, params)
    return await fetch_one(query, params)


EXCEEDED_NOW = "adk_excess(s.id, %(of_user)s::int, %(of_app)s)"
"""SQL expression: `person`, `app` or '' for an invocation of the session `s` if it began now."""

TODAY = "(now() AT TIME ZONE %(time_zone)s::text)::date"
"""SQL expression: today's date in the site's time zone."""

EXCEEDED_TODAY = f"""
coalesce((
    SELECT CASE
        WHEN %(most_tokens)s::bigint BETWEEN 1 AND u.tokens THEN 'tokens'
        WHEN %(most_cost)s::float8 > 0 AND u.cost >= %(most_cost)s::float8 THEN 'cost'
    END FROM sessions_app_personusage u WHERE u.user_id = s.user_id AND u.day = {TODAY}
), '')"""  # noqa: S608
"""SQL expression: `tokens`, `cost` or '' for the user of the session `s`."""


def key_has_spent(key: str) -> str:
    """Return an SQL expression: True if the API key has used up its tokens of the day.

    Args:
        key: SQL expression of the key's id.
    """
    return f"adk_key_has_spent({key}, {TODAY})"


_LOCK_APP = """
SELECT pg_advisory_xact_lock(hashtextextended('adk:app:' || app_name, 0))
FROM sessions_app_session WHERE id = %(session)s"""

_LOCK_USER = """
SELECT pg_advisory_xact_lock(hashtextextended('adk:person:' || user_id, 0))
FROM sessions_app_session WHERE id = %(session)s"""
