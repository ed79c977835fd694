"""A restart of PostgreSQL, as its clients notice it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from asgiref.sync import SyncToAsync
from django.db import connection, connections


def end_all_backends() -> None:
    """End all sessions of PostgreSQL but one of its own, as a restart does."""
    # Not from the pool: the pool would keep a session that has not ended.
    with psycopg.connect(**connection.get_connection_params()) as own:
        own.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@contextmanager
def reconnected() -> Iterator[None]:
    """Give the test's own thread, and the thread of Django's async ORM, new connections at the end."""
    try:
        yield
    finally:
        connection.close()
        SyncToAsync.single_thread_executor.submit(connections.close_all).result()
