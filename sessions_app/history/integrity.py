"""Check of a session's event log against its hash chain.

    chain(0) = empty
    chain(n) = hash of chain(n - 1), the session id, n and the event's JSON
    hash(n)  = hash of chain(n) and `before`; chain(n) without `before`

Event n has hash(n), and `log_hash` of the session is the chain of its last event. A changed, removed, moved or inserted
event breaks the chain at its place; `log_hash` reveals a log cut off at its end. PostgreSQL computes the hashes in the
append and here, from the JSON as it keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import connection


@dataclass(frozen=True)
class Flaw:
    """The first change in a log.

    Attributes:
        seq: number of the event at which the chain breaks.
        problem: `altered`, `missing` (one or more events before `seq` are gone), `unsealed` (without a hash: the row
            was not written by the append statement), or `cut off` (events at the end of the log are gone).
    """

    session_id: UUID
    seq: int
    problem: str


def flaw_in(session_id: UUID) -> Flaw | None:
    """Return the first flaw of a log; None for an unchanged log."""
    return next(flaws([session_id]), None)


def flaws(session_ids: list[UUID]) -> Iterator[Flaw]:
    """Yield the first flaw of each changed log, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(_FIRST_FLAWS, {"sessions": session_ids})
        for session_id, seq, problem in cursor.fetchall():
            yield Flaw(session_id, seq, problem)


# The window computes each chain once, in one pass over the log. At the same `seq` an event's own flaw comes before
# "cut off": it says more.
_FIRST_FLAWS = """
WITH checked AS (
    SELECT e.session_id, e.seq, CASE
        WHEN e.seq - coalesce(lag(e.seq) OVER log, 0) <> 1 THEN 'missing'
        WHEN e.hash IS NULL THEN 'unsealed'
        WHEN e.hash <> adk_event_hash(adk_chain_of_log(e.session_id, e.seq, e.body) OVER log, e.before) THEN 'altered'
    END AS problem
    FROM sessions_app_event e WHERE e.session_id = ANY(%(sessions)s)
    WINDOW log AS (PARTITION BY e.session_id ORDER BY e.seq)
), found AS (
    SELECT session_id, seq, problem FROM checked WHERE problem IS NOT NULL
    UNION ALL
    SELECT s.id, s.last_seq, 'cut off' FROM sessions_app_session s LEFT JOIN (
        SELECT session_id, max(seq) AS last_seq, adk_chain_of_log(session_id, seq, body ORDER BY seq) AS chain
        FROM sessions_app_event WHERE session_id = ANY(%(sessions)s) GROUP BY session_id
    ) log ON log.session_id = s.id
    WHERE s.id = ANY(%(sessions)s)
        AND (s.last_seq <> coalesce(log.last_seq, 0) OR s.log_hash <> coalesce(log.chain, ''))
)
SELECT DISTINCT ON (session_id) session_id, seq, problem FROM found
ORDER BY session_id, seq, problem = 'cut off'"""
