"""Log of a session: load the session with its events, or query its status.

A session and its first page of events come from one statement, so state and `last_seq` fit each other. Further pages
need no snapshot: events never change, and a reader knows from `last_seq` where to stop.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from runtime.events.summaries import SUMMARY_NOTE_KEY
from runtime.sessions.state import ScopedState
from sessions_app.base.statuses import JobStatus, sql_list
from sessions_app.models import Session
from sessions_app.process.pool import Row, fetch_all, fetch_one
from sessions_app.store.packs import open_if_packed

SessionKey = tuple[str, Any, str]
"""Name of the app, primary key of the user, session key."""

PAGE_EVENTS = 500
"""Largest number of events that one statement reads. Receiving them blocks the event loop for a millisecond or two."""


@dataclass(frozen=True)
class Loaded:
    """A session's row, its state in three scopes, and the first page of a part of its events as JSON, oldest first.

    Attributes:
        skipped: number of events before this part of the log, which reaches to `last_seq`.
    """

    session_id: UUID
    last_seq: int
    last_event_at: float
    state: ScopedState
    skipped: int
    events: list[str]

    @classmethod
    def from_row(cls, row: Row) -> "Loaded":
        """Return the session of a row that has the columns of `_LOAD_AFTER`, among others."""
        return cls(
            session_id=row["session_id"],
            last_seq=row["last_seq"],
            last_event_at=row["last_event_at"],
            state=ScopedState(app=row["app_state"], user=row["user_state"], session=row["session_state"]),
            skipped=row["skipped"],
            events=row["events"],
        )

    @property
    def count(self) -> int:
        """Number of events in all pages."""
        return self.last_seq - self.skipped


async def load(
    key: SessionKey,
    *,
    after: int = 0,
    recent: int | None = None,
    since: float | None = None,
    whole: bool = True,
) -> Loaded | None:
    """Load a session with the first page of its events; None if the session does not exist. See `pages`.

    Args:
        after: load only events with a larger `seq`.
        recent: load at most this many events, the newest.
        since: load only events with this timestamp or a later timestamp.
        whole: False to skip the events covered by the latest summary of the whole session, except the last covered
            event (contract R4). A rewound summary counts, too. `after` is ignored then.
    """
    app_name, user_id, session_key = key
    params = {
        "app": app_name,
        "user": user_id,
        "key": session_key,
        "after": after,
        "recent": recent,
        "since": since,
        "page": PAGE_EVENTS if since is None else None,
    }
    statement = _LOAD_AFTER if whole else _LOAD_FROM_SUMMARY
    row = await fetch_one(statement, params)
    if row and row["packed_at"]:
        await open_if_packed(Session(pk=row["session_id"], packed_at=row["packed_at"]))
        row = await fetch_one(statement, params)
    if row is None:
        return None
    if since is not None:
        # Not a real position: timestamps need not grow with `seq`, so the events may have gaps. All are in one page,
        # and `pages` must not read further.
        row["skipped"] = row["last_seq"] - len(row["events"])
    return Loaded.from_row(row)


async def pages(loaded: Loaded) -> AsyncGenerator[list[str]]:
    """Yield the pages of a loaded session's events up to `last_seq`. They end early when the session was deleted."""
    page = loaded.events
    read = loaded.skipped + len(page)
    while page and read < loaded.last_seq:
        following = events_after(loaded.session_id, read, min(loaded.last_seq - read, PAGE_EVENTS))
        # PostgreSQL makes the next page while the caller parses this page.
        coming = asyncio.create_task(following, name="read the next events")
        try:
            yield page
            page = [body for _seq, body in await coming]
        finally:
            coming.cancel()  # The caller may stop early; without effect on a finished task.
        read += len(page)
    if page:
        yield page


def _load_statement(skipped: str) -> str:
    """Return the statement to load a session without its first events.

    Args:
        skipped: SQL expression of the number of events to skip.
    """
    return f"""
SELECT s.id AS session_id, s.last_seq, s.packed_at, extract(epoch FROM s.last_event_at)::float8 AS last_event_at,
    s.state AS session_state, coalesce(u.state, '{{}}') AS user_state, coalesce(a.state, '{{}}') AS app_state,
    skipped.seq AS skipped,
    ARRAY(
        SELECT e.body::text FROM sessions_app_event e
        WHERE e.session_id = s.id AND e.seq > skipped.seq
            AND (%(since)s::float8 IS NULL OR (e.body ->> 'timestamp')::float8 >= %(since)s::float8)
        ORDER BY e.seq LIMIT %(page)s::bigint
    ) AS events
FROM sessions_app_session s
LEFT JOIN sessions_app_userstate u ON u.app_name = s.app_name AND u.user_id = s.user_id
LEFT JOIN sessions_app_appstate a ON a.app_name = s.app_name
CROSS JOIN LATERAL (SELECT greatest({skipped}, s.last_seq - %(recent)s::bigint) AS seq OFFSET 0) skipped
WHERE s.app_name = %(app)s AND s.user_id = %(user)s AND s.key = %(key)s"""  # noqa: S608


# Number of events to skip. Scanning backwards from the end of the log finds the summary, then the last event that the
# summary covers. A summary names this event by its timestamp, because the runtime's events have no `seq`.
_SKIPPED_BY_SUMMARY = f"""
coalesce((
    SELECT last.seq - 1 FROM (
        SELECT c.seq, (c.body #>> '{{actions,compaction,endTimestamp}}')::float8 AS ends
        FROM sessions_app_event c
        WHERE c.session_id = s.id AND c.body -> 'customMetadata' ? '{SUMMARY_NOTE_KEY}'
        ORDER BY c.seq DESC LIMIT 1
    ) summary, LATERAL (
        SELECT l.seq FROM sessions_app_event l
        WHERE l.session_id = s.id AND l.seq < summary.seq AND (l.body ->> 'timestamp')::float8 = summary.ends
        ORDER BY l.seq DESC LIMIT 1
    ) last
), 0)"""  # noqa: S608

_LOAD_AFTER = _load_statement("%(after)s::bigint")
_LOAD_FROM_SUMMARY = _load_statement(_SKIPPED_BY_SUMMARY)


async def events_after(session_id: UUID, after: int, limit: int) -> list[tuple[int, str]]:
    """Return up to `limit` events after a `seq`, as (seq, JSON)."""
    query = """
        SELECT seq, body::text AS body FROM sessions_app_event
        WHERE session_id = %(session)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s"""
    params = {"session": session_id, "after": after, "limit": limit}
    rows = await fetch_all(query, params)
    # Packed since the caller found the session: between two pages, or while a tab was away for long.
    if not rows and (packed := await fetch_one(_PACKED, params)):
        await open_if_packed(Session(pk=session_id, packed_at=packed["packed_at"]))
        rows = await fetch_all(query, params)
    return [(row["seq"], row["body"]) for row in rows]


_PACKED = "SELECT packed_at FROM sessions_app_session WHERE id = %(session)s AND packed_at IS NOT NULL"


NO_IDS: frozenset[str] = frozenset()
"""Ids of an idle session. All idle sessions share this set: an empty set takes 216 bytes."""


@dataclass(frozen=True)
class SessionStatus:
    """Status of a session, for its readers.

    Attributes:
        lease_token: fencing token of the session's newest lease.
        invocation: id and status of the running invocation, else of the oldest queued invocation; None without both.
        active: ids of the queued and running invocations and jobs.
        waiting: ids of the jobs waiting for an answer.
    """

    app_name: str
    last_seq: int
    lease_token: int
    invocation: tuple[str, str] | None
    active: frozenset[str]
    waiting: frozenset[str] = NO_IDS


async def session_status(session_id: UUID, user_id: Any) -> SessionStatus | None:
    """Return the status of a session; None when the user has no such session, or has deleted it."""
    query = f"{_SESSION_STATUS} WHERE s.id = %(session)s AND s.user_id = %(user)s AND s.deleted_at IS NULL"
    row = await fetch_one(query, {"session": session_id, "user": user_id})
    return _session_status(row) if row else None


async def session_statuses(session_ids: Sequence[UUID]) -> dict[UUID, SessionStatus]:
    """Return the statuses of the sessions; deleted sessions are absent."""
    rows = await fetch_all(
        f"{_SESSION_STATUS} WHERE s.id = ANY(%(ids)s) AND s.deleted_at IS NULL", {"ids": list(session_ids)}
    )
    return {row["id"]: _session_status(row) for row in rows}


async def find_session(key: SessionKey) -> tuple[UUID, int] | None:
    """Return primary key and last `seq` of a session; None when there is no such session, or it is deleted."""
    query = """
        SELECT id, last_seq FROM sessions_app_session
        WHERE app_name = %(app)s AND user_id = %(user)s AND key = %(key)s AND deleted_at IS NULL"""
    app_name, user_id, session_key = key
    row = await fetch_one(query, {"app": app_name, "user": user_id, "key": session_key})
    return (row["id"], row["last_seq"]) if row else None


async def owners(session_ids: Iterable[UUID]) -> list[str]:
    """Return the primary keys of the sessions' owners, as texts."""
    query = "SELECT DISTINCT user_id::text AS user_id FROM sessions_app_session WHERE id = ANY(%(ids)s)"
    return [row["user_id"] for row in await fetch_all(query, {"ids": list(session_ids)})]


def _session_status(row: Row) -> SessionStatus:
    running: list[str] = row["running"]
    queued: list[str] = row["queued"]
    invocation = None
    if running:
        invocation = running[0], "running"
    elif queued:
        invocation = queued[0], "queued"
    return SessionStatus(
        app_name=row["app_name"],
        last_seq=row["last_seq"],
        lease_token=row["lease_token"],
        invocation=invocation,
        active=frozenset(running + queued + row["active_jobs"]) or NO_IDS,
        waiting=frozenset(row["waiting_jobs"]) or NO_IDS,
    )


# Two subqueries, because running and queued invocations each have a partial index, and a session may have thousands of
# ended invocations.
_SESSION_STATUS = f"""
SELECT s.id, s.app_name, s.last_seq, s.lease_token,
    ARRAY(
        SELECT i.invocation_id FROM sessions_app_invocation i WHERE i.session_id = s.id AND i.status = 'running'
    ) AS running,
    ARRAY(
        SELECT i.invocation_id FROM sessions_app_invocation i
        WHERE i.session_id = s.id AND i.status = 'queued' ORDER BY i.id
    ) AS queued,
    ARRAY(
        SELECT j.id::text FROM sessions_app_tooljob j
        WHERE j.session_id = s.id AND j.status IN {sql_list(JobStatus.active())}
    ) AS active_jobs,
    ARRAY(
        SELECT j.id::text FROM sessions_app_tooljob j WHERE j.session_id = s.id AND j.status = 'waiting'
    ) AS waiting_jobs
FROM sessions_app_session s"""  # noqa: S608
