"""Limits for the use of PostgreSQL by a web process. Workers and commands have none: their statements may be long."""

from __future__ import annotations

from typing import Any

from sessions_app.conf import Conf


def limit_database_use(database: dict[str, Any], conf: Conf) -> None:
    """Limit the connections of the ORM and the duration of all statements.

    Args:
        database: the entry in `settings.DATABASES`; changed before the first connection is opened.
        conf: the site's settings.
    """
    # A page waits for a connection of the pool. Without a pool, each concurrent request would open its own.
    options = database.setdefault("OPTIONS", {})
    database.update(ENGINE="adk_site.postgresql", CONN_MAX_AGE=0, CONN_HEALTH_CHECKS=False)
    options["pool"] = {
        "min_size": 0,
        "max_size": conf.page_connections,
        "timeout": conf.page_wait_seconds,
        "reconnect_timeout": conf.page_wait_seconds,
    }
    if conf.statement_seconds:
        timeout = f"-c statement_timeout={round(conf.statement_seconds * 1000)}"
        options["options"] = f"{options.get('options', '')} {timeout}".strip()
