"""Group commit: appends of one event loop that change the state of the same app share transactions.

The row of an app's state stays locked until the commit is on disk. Without groups, twenty sessions that write the same
`app:` key wait for twenty commits in turn. Therefore appends queue while an append of their app is executed, and the
queue becomes the next group: one transaction in one round trip. An append that finds no other is executed immediately.

    append ---> app is idle ---> executed alone ---+
       |                                           +---> the members in line become the next group
       +------> app is busy ---> line of members --+

A group waits for the row of the app's state and for no other row. If a group waited for the row of a session while it
holds other session rows, it could be part of a deadlock, and all writers of the app would wait with it. Members whose
rows are locked therefore write nothing, and are executed again without a group.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import psycopg

from sessions_app.process.pool import Row, fetch_each, fetch_one
from sessions_app.process.threads import LoopLocal

MAX_MEMBERS = 32
# Bounded because a cancelled member waits for the end of its group. Shorter than PostgreSQL's `deadlock_timeout` of one
# second: a group in a deadlock gives up before PostgreSQL looks for a victim.
MAX_LOCK_SECONDS = 0.8
"""Longest wait of a group for the app's row, in seconds."""


@dataclass(eq=False)
class _Member:
    """A statement and its group. Cancelling `group` takes the statement out of the line."""

    query: str
    params: dict[str, Any]
    group: "asyncio.Future[_Group]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


_Group = asyncio.Task[dict[_Member, Row | None]]
_lines: LoopLocal[dict[str, list[_Member]]] = LoopLocal(dict)
"""Members in line for a group, by app. An app has an entry while one of its appends is executed."""


async def fetch_in_turn(app_name: str, query: str, params: dict[str, Any]) -> Row | None:
    """Run a statement that changes the app's state, and return its first row.

    Return None, with nothing written, when the statement has returned no row or its group was rolled back. The caller
    then executes its append without a group.

    A task cancelled before its group begins writes nothing. A task cancelled later ends with its group, and its
    statement may be committed, as with any cancelled statement: the caller must read the rows.

    Args:
        query: a statement which returns no row when its session or user is locked, in place of waiting.
    """
    lines = _lines.get()
    if app_name not in lines:
        lines[app_name] = []
        try:
            return await fetch_one(query, params)
        finally:
            # After an error, too: no other call would begin the group of the members in line.
            _begin_next(lines, app_name)
    member = _Member(query, params)
    lines[app_name].append(member)
    try:
        group = await member.group
        # Shielded: the group also commits the appends of other sessions.
        return (await asyncio.shield(group)).get(member)
    except asyncio.CancelledError:
        if not member.group.cancelled():
            # The group has begun and cannot leave this member out. Wait, so the rows that the caller reads are final.
            await asyncio.wait([member.group.result()])
        raise


def _begin_next(lines: dict[str, list[_Member]], app_name: str) -> None:
    waiting = [member for member in lines.pop(app_name) if not member.group.cancelled()]
    if not waiting:
        return
    # The rest stays in line, before the appends that come during this group.
    members = waiting[:MAX_MEMBERS]
    lines[app_name] = waiting[MAX_MEMBERS:]
    group = asyncio.create_task(_execute(members), name=f"append events of app {app_name}")
    group.add_done_callback(lambda _: _begin_next(lines, app_name))
    for member in members:
        member.group.set_result(group)


async def _execute(members: list[_Member]) -> dict[_Member, Row | None]:
    """Return the first row of each member's statement; no rows when the group was rolled back."""
    limit = ("SELECT set_config('lock_timeout', %(limit)s, true)", {"limit": f"{MAX_LOCK_SECONDS}s"})
    try:
        _, *rows = await fetch_each([limit, *((member.query, member.params) for member in members)])
    except psycopg.errors.LockNotAvailable:
        return {}
    except (psycopg.OperationalError, psycopg.InterfaceError):
        raise  # PostgreSQL may have committed the group.
    except Exception:  # noqa: BLE001 - an error of one member, whose statement alone raises it again
        return {}
    return dict(zip(members, rows, strict=True))
