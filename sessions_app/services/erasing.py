"""Permission to delete events, for one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def erasing() -> Iterator[None]:
    """Let a transaction change and delete events, which the database refuses otherwise."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL adk.erasing = 'on'")
        yield
