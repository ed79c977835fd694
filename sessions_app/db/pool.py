"""Connections for the hot path: psycopg's async pool, one for each event loop of a process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from django.db import InterfaceError, connections
from django.db import OperationalError as DjangoOperationalError
from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from sessions_app.conf import conf

UNAVAILABLE = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    PoolTimeout,
    DjangoOperationalError,
    InterfaceError,
)
"""What is raised while PostgreSQL is away; the statement may or may not have been carried out."""

WAIT_SECONDS = 10.0
"""So long a statement waits for a connection."""
RECONNECT_SECONDS = 4.0
"""So long a lost connection is tried again, with growing pauses; later each statement that needs one tries at once."""

Pool = AsyncConnectionPool[AsyncConnection[TupleRow]]

_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[Pool]] = WeakKeyDictionary()


async def get_pool() -> Pool:
    """The running loop's pool, opened at first use. Its connections commit each statement by itself."""
    loop = asyncio.get_running_loop()
    opening = _pools.get(loop)
    if opening is None or (opening.done() and opening.exception() is not None):
        opening = _pools[loop] = loop.create_task(_open(), name="open the connection pool")
    return await asyncio.shield(opening)


async def close_pool() -> None:
    """Close the running loop's pool, if it has one."""
    opening = _pools.pop(asyncio.get_running_loop(), None)
    if opening is not None:
        await (await opening).close()


async def fetch_one(query: str, params: dict[str, Any]) -> TupleRow | None:
    """Run one statement and return its first row."""
    async with _connection() as connection:
        return await (await connection.execute(query, params)).fetchone()


async def fetch_one_alone(locks: Sequence[str], query: str, params: dict[str, Any]) -> TupleRow | None:
    """As `fetch_one`, in one round trip, too, but after everyone else who took one of these locks has committed.

    Args:
        locks: statements that take them, with the same parameters.
    """
    async with _connection() as connection, connection.pipeline(), connection.transaction():
        for lock in locks:
            await connection.execute(lock, params)
        cursor = await connection.execute(query, params)
        return await cursor.fetchone()


async def fetch_all(query: str, params: dict[str, Any]) -> list[TupleRow]:
    """Run one statement and return its rows."""
    async with _connection() as connection:
        return await (await connection.execute(query, params)).fetchall()


@asynccontextmanager
async def _connection() -> AsyncIterator[AsyncConnection[TupleRow]]:
    pool = await get_pool()
    try:
        async with pool.connection() as connection:
            yield connection
    except psycopg.OperationalError:
        # When PostgreSQL was restarted, the idle ones are dead, too: not one failure for each.
        await pool.check()
        raise


async def _open() -> Pool:
    prepare_after = 1 if conf().prepared_statements else None
    pool: Pool = AsyncConnectionPool(
        kwargs={**_connection_parameters(), "autocommit": True, "prepare_threshold": prepare_after},
        min_size=1,
        max_size=conf().pool_size,
        check=None,
        timeout=WAIT_SECONDS,
        reconnect_timeout=RECONNECT_SECONDS,
        open=False,
        name="adk",
    )
    await pool.open()
    return pool


def _connection_parameters() -> dict[str, Any]:
    """What Django's own connections use, test databases included, without what is Django's alone."""
    parameters: dict[str, Any] = connections["default"].get_connection_params()
    return {name: value for name, value in parameters.items() if name not in ("cursor_factory", "context")}
