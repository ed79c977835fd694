"""Environment of processes that a test starts on its own database and Redis."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection


def server_variables() -> dict[str, str]:
    """Return the variables that point a process to the test database and its Redis."""
    url = urlsplit(settings.DATABASE_URL)
    database = url._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    return {"DATABASE_URL": database, "REDIS_URL": settings.REDIS_URL}
