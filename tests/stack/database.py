"""Where processes that a test starts find its database and Redis."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection


def of_the_tests() -> dict[str, str]:
    """The variables that tell them."""
    url = urlsplit(settings.DATABASE_URL)
    database = url._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    return {"DATABASE_URL": database, "REDIS_URL": settings.REDIS_URL}
