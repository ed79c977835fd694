"""The connection pool: its first connection, prepared statements, also with a pooler (docs/scaling.md), and its end."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from pytest_django import Settings

from sessions_app.process import pool
from sessions_app.process.pool import fetch_one, get_pool, waiting_statements

pytestmark = [pytest.mark.usefixtures("loop_end"), pytest.mark.django_db(transaction=True)]


@pytest.fixture
def without_prepared_statements(settings: Settings) -> None:
    settings.ADK = {"prepared_statements": False}


async def test_the_first_statement_opens_one_connection() -> None:
    await fetch_one("SELECT 1", {})
    assert (await get_pool()).get_stats()["pool_size"] == 1


async def prepared_statements() -> int:
    """Return the number of prepared statements of a connection that has executed one statement several times."""
    async with (await get_pool()).connection() as connection:
        for _ in range(4):
            cursor = await connection.execute("SELECT count(*) FROM pg_prepared_statements", {})
            row = await cursor.fetchone()
    assert row is not None
    return int(row["count"])


async def test_a_connection_keeps_prepared_statements() -> None:
    assert await prepared_statements() == 1


async def test_a_connection_keeps_no_prepared_statements_when_the_setting_is_off(
    without_prepared_statements: None,
) -> None:
    assert await prepared_statements() == 0


async def test_statements_wait_for_a_connection_in_order(settings: Settings) -> None:
    # With more connections, statements that run side by side end in any order.
    settings.ADK = {"pool_size": 1}
    ended: list[int] = []

    async def run(number: int) -> None:
        await fetch_one("SELECT pg_sleep(0.01)", {})
        ended.append(number)

    tasks = [asyncio.create_task(run(number)) for number in range(6)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert waiting_statements() > 0
    tasks[4].cancel()
    await asyncio.wait(tasks)
    assert ended == [0, 1, 2, 3, 5]
    assert waiting_statements() == 0
    assert (await get_pool()).get_stats()["pool_size"] == 1


async def test_a_statement_waits_for_a_connection_no_longer_than_the_limit(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ADK = {"pool_size": 1}
    monkeypatch.setattr(pool, "WAIT_SECONDS", 0.1)
    await fetch_one("SELECT 1", {})
    holder = asyncio.create_task(fetch_one("SELECT pg_sleep(0.5)", {}))
    await asyncio.sleep(0)
    with pytest.raises(PoolTimeout, match="no connection was free"):
        await fetch_one("SELECT 1", {})
    await holder
    assert await fetch_one("SELECT 1 AS one", {}) == {"one": 1}


async def test_a_cancellation_that_comes_with_a_connection_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    getconn = AsyncConnectionPool.getconn

    async def drop_cancellation(self: Any, *args: Any) -> Any:
        """Do as `asyncio.wait_for` of Python 3.11 when both come at once."""
        connection = await getconn(self, *args)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return connection

    monkeypatch.setattr(AsyncConnectionPool, "getconn", drop_cancellation)
    task = asyncio.create_task(fetch_one("SELECT 1", {}))
    with pytest.raises(asyncio.CancelledError):
        await task
    stats = (await get_pool()).get_stats()
    assert stats["pool_available"] == stats["pool_size"] == 1


@pytest.mark.parametrize("condition", ["lock_not_available", "deadlock_detected", "query_canceled"])
async def test_an_error_of_a_statement_does_not_check_the_other_connections(
    monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    checks: list[AsyncConnectionPool] = []

    async def note_check(self: AsyncConnectionPool) -> None:
        checks.append(self)

    monkeypatch.setattr(AsyncConnectionPool, "check", note_check)
    with pytest.raises(psycopg.OperationalError):
        await fetch_one(f"DO $$ BEGIN RAISE {condition}; END $$", {})
    assert checks == []
    with pytest.raises(psycopg.OperationalError):
        await fetch_one("SELECT pg_terminate_backend(pg_backend_pid())", {})
    assert len(checks) == 1


def test_a_loop_that_has_used_a_pool_ends() -> None:
    for _ in range(60):  # in some of them a worker of the pool is connecting when the loop ends
        thread = threading.Thread(target=asyncio.run, args=[fetch_one("SELECT 1", {})], daemon=True)
        thread.start()
        thread.join(timeout=20)
        assert not thread.is_alive()
