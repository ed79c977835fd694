"""The hot path's connections, as a pooler between may need them (docs/scaling.md)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from sessions_app.conf import conf
from sessions_app.db.pool import fetch_one

pytestmark = [pytest.mark.usefixtures("loop_end"), pytest.mark.django_db(transaction=True)]


@pytest.fixture
def without_prepared_statements(settings: Settings) -> Iterator[None]:
    settings.ADK = {"prepared_statements": False}
    conf.cache_clear()
    yield
    conf.cache_clear()


async def prepared() -> int:
    """How many statements the connection keeps after one was run several times."""
    for _ in range(4):
        row = await fetch_one("SELECT count(*) FROM pg_prepared_statements", {})
    assert row is not None
    return int(row[0])


async def test_a_connection_keeps_the_statements_that_it_has_planned() -> None:
    assert await prepared() == 1


async def test_behind_a_pooler_that_knows_no_prepared_statements_it_keeps_none(
    without_prepared_statements: None,
) -> None:
    assert await prepared() == 0
