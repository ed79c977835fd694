"""The connection pool: its first connection, prepared statements, also with a pooler (docs/scaling.md), and its end."""

from __future__ import annotations

import asyncio
import threading

import pytest
from pytest_django import Settings

from sessions_app.db.pool import fetch_one, get_pool

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
    return int(row[0])


async def test_a_connection_keeps_prepared_statements() -> None:
    assert await prepared_statements() == 1


async def test_a_connection_keeps_no_prepared_statements_when_the_setting_is_off(
    without_prepared_statements: None,
) -> None:
    assert await prepared_statements() == 0


def test_a_loop_that_has_used_a_pool_ends() -> None:
    for _ in range(60):  # in some of them a worker of the pool is connecting when the loop ends
        thread = threading.Thread(target=asyncio.run, args=[fetch_one("SELECT 1", {})], daemon=True)
        thread.start()
        thread.join(timeout=20)
        assert not thread.is_alive()
