"""Helpers that hold database locks and wait until statements are blocked by them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.db import connections
from psycopg import AsyncConnection

from sessions_app.process.pool import fetch_all


@asynccontextmanager
async def held(statement: str, seconds: float = 10) -> AsyncIterator[AsyncConnection]:
    """Run a statement in a separate transaction that holds its locks for the block, for a limited time; then commit."""
    parameters = connections["default"].get_connection_params()
    parameters = {
        name: value for name, value in parameters.items() if name not in ("cursor_factory", "context")
    }
    async with asyncio.timeout(seconds), await AsyncConnection.connect(**parameters) as connection:
        await connection.execute(statement)
        yield connection


async def blocked(count: int) -> None:
    """Wait until `count` statements are waiting for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    while (await fetch_all(waiting, {}))[0]["count"] < count:
        await asyncio.sleep(0.01)
