"""A restart of PostgreSQL, as its clients notice it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


def end_all_backends() -> None:
    """End all sessions of PostgreSQL but one of its own, as a restart does."""
    own = connection.copy()
    with own.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    own.close()


@contextmanager
def reconnected() -> Iterator[None]:
    """Give the test's own thread a new connection at the end."""
    try:
        yield
    finally:
        connection.close()
