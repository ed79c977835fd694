"""Connection pool of the hot path: psycopg's async pool, for each event loop of a process.

    statement --> _Line (a semaphore, first come, first served) --> pool.getconn --> execute --> pool.putconn

The pool has a line of waiting tasks, too, but wakes a task only after several rounds of the event loop: with 200 people
at once its connections would be idle for longer than they are used. Therefore statements wait in `_Line`, and no more
of them enter the pool than it has connections.

Connections are in autocommit mode, and statements are prepared if the site allows it: a statement is a transaction in
one round trip. A group of statements is sent in a pipeline (`fetch_one_under_locks`, `fetch_each`), in one round trip,
too.

The pool opens at first use, in a task that its callers share. A second task, which does nothing but wait, closes the
pool when its loop ends: the loop of `async_to_sync` ends after each call and cancels its tasks.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg
from django.db import InterfaceError, connections
from django.db import OperationalError as DjangoOperationalError
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from sessions_app.conf import conf
from sessions_app.process import failover
from sessions_app.process.threads import LoopLocal

UNAVAILABLE = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    PoolTimeout,
    DjangoOperationalError,
    InterfaceError,
)
"""Errors raised while PostgreSQL is unavailable; the statement may or may not have been executed."""

_OF_STATEMENTS = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.QueryCanceled,
)
"""Errors that psycopg counts as operational, although only the statement has failed, and not its connection."""

WAIT_SECONDS = 10.0
"""Longest wait of a statement for a connection, in seconds."""
RECONNECT_SECONDS = 4.0
"""Time for which the pool tries to reconnect in the background. Later each statement tries to connect."""

Row = DictRow
"""A row by the names of its columns. `Class(**row)` makes an object of it if the fields have the same names."""
Pool = AsyncConnectionPool[AsyncConnection[Row]]


async def get_pool() -> Pool:
    """Return the running loop's pool, opened at first use. Its connections are in autocommit mode."""
    opening = _pools.get()
    # A failed opening is not kept: PostgreSQL may be back.
    if opening.done() and opening.exception() is not None:
        _pools.pop()
        opening = _pools.get()
    # Shielded: other callers wait for the same opening, and this caller may be cancelled.
    return await asyncio.shield(opening)


async def close_pool() -> None:
    """Close the running loop's pool, if any."""
    opening = _pools.pop()
    if opening is not None:
        await (await opening).close()
    closer = _closers.pop()
    if closer is not None:
        closer.cancel()
    _lines.pop()


def waiting_statements() -> int:
    """Return the number of the running loop's statements without a connection."""
    return _lines.get().waiting


def short(statement: str) -> str:
    """Return the statement without indentation: psycopg caches the parsed form of at most 4,096 characters."""
    return " ".join(statement.split())


async def fetch_one(query: str, params: dict[str, Any] | tuple[Any, ...]) -> Row | None:
    """Run a statement and return its first row."""
    async with _connection() as connection:
        return await (await connection.execute(query, params)).fetchone()


async def fetch_one_under_locks(locks: Sequence[str], query: str, params: dict[str, Any]) -> Row | None:
    """Take locks, run a statement in the same transaction and return its first row, in one round trip.

    When the statement returns no row, everything is rolled back.

    Args:
        locks: statements to take the locks, with the same parameters.
    """
    row = None
    async with _connection() as connection, connection.pipeline(), connection.transaction() as transaction:
        for lock in locks:
            await connection.execute(lock, params)
        cursor = await connection.execute(query, params)
        row = await cursor.fetchone()
        if row is None:
            raise psycopg.Rollback(transaction)
    return row


async def fetch_each(statements: Sequence[tuple[str, dict[str, Any]]]) -> list[Row | None]:
    """Run statements in one transaction and one round trip, and return the first row of each."""
    async with _connection() as connection:
        async with connection.pipeline(), connection.transaction():
            # In a pipeline `execute` does not wait for the result; the rows are read after the commit.
            cursors = [await connection.execute(query, params) for query, params in statements]
        return [await cursor.fetchone() for cursor in cursors]


async def fetch_all(query: str, params: dict[str, Any]) -> list[Row]:
    """Run a statement and return its rows."""
    async with _connection() as connection:
        return await (await connection.execute(query, params)).fetchall()


async def database_now() -> datetime:
    """Return the database's time. All processes decide by it what is due: the clocks of their machines differ."""
    [row] = await fetch_all("SELECT now()", {})
    now: datetime = row["now"]
    return now


@asynccontextmanager
async def _connection() -> AsyncIterator[AsyncConnection[Row]]:
    pool = await get_pool()
    line = _lines.get()
    await line.enter()
    try:
        # Not `pool.connection()`, which commits at its end: these connections are in autocommit mode.
        connection = await _take(pool)
        try:
            yield connection
        finally:
            await pool.putconn(connection)
    except _OF_STATEMENTS:
        raise
    except psycopg.OperationalError:
        # A restart of PostgreSQL breaks the idle connections too: drop them now instead of failing once for each.
        await pool.check()
        raise
    finally:
        line.free.release()


async def _take(pool: Pool) -> AsyncConnection[Row]:
    """Take a connection; raise the caller's cancellation, should it come together with the connection."""
    # The pool waits with `asyncio.wait_for`, which drops such a cancellation in Python 3.11: the person's request to
    # stop would be lost.
    task = asyncio.current_task()
    count_before = task.cancelling() if task else 0
    connection = await pool.getconn()
    if task and task.cancelling() > count_before:
        await pool.putconn(connection)
        raise asyncio.CancelledError
    return connection


@dataclass
class _Line:
    """Statements waiting for a connection, first come, first served; see the module for the reason."""

    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(conf().pool_size))
    waiting: int = 0

    async def enter(self) -> None:
        """Wait for a free connection, and reserve it.

        Raises:
            PoolTimeout: all connections were in use for `WAIT_SECONDS`.
        """
        self.waiting += 1
        try:
            # No timer in the usual case, when a connection is free.
            async with asyncio.timeout(WAIT_SECONDS if self.free.locked() else None):
                await self.free.acquire()
        except TimeoutError as error:
            raise PoolTimeout(f"no connection was free for {WAIT_SECONDS:.0f} s") from error
        finally:
            self.waiting -= 1


async def _open() -> Pool:
    prepare_after = 1 if conf().prepared_statements else None
    pool: Pool = AsyncConnectionPool(
        connection_class=failover.AsyncConnection,
        kwargs={
            **_connection_parameters(),
            "autocommit": True,
            "prepare_threshold": prepare_after,
            "row_factory": dict_row,
        },
        min_size=0,  # With a first connection on its way, the first statement would open a second connection.
        max_size=conf().pool_size,
        check=None,  # A check is a round trip for each statement; `_connection` checks after an error.
        timeout=WAIT_SECONDS,
        reconnect_timeout=RECONNECT_SECONDS,
        open=False,
        name="adk",
    )
    await pool.open()
    return pool


def _start_opening() -> asyncio.Task[Pool]:
    _closers.get()
    return asyncio.create_task(_open(), name="open the connection pool")


def _start_closer() -> asyncio.Task[None]:
    return asyncio.create_task(_close_with_loop(), name="close the connection pool with its loop")


async def _close_with_loop() -> None:
    """Wait until the ending loop cancels this task, then close the pool."""
    # A loop that ends cancels its tasks once. A worker of the pool that is just connecting would continue, and the loop
    # would wait for it for ever.
    try:
        await asyncio.Event().wait()
    finally:
        with suppress(asyncio.CancelledError):  # raised by a worker of the pool
            await close_pool()


_pools = LoopLocal(_start_opening)
_closers = LoopLocal(_start_closer)
_lines = LoopLocal(_Line)


def _connection_parameters() -> dict[str, Any]:
    """Return the parameters of Django's own connection (in tests, to the test database), without Django's options."""
    parameters: dict[str, Any] = connections["default"].get_connection_params()
    return {name: value for name, value in parameters.items() if name not in ("cursor_factory", "context")}
