"""Limits on what a web process asks of PostgreSQL. Workers and commands have none: their statements may be long."""

from __future__ import annotations

from typing import Any

from sessions_app.conf import Conf


def limit_database_use(database: dict[str, Any], conf: Conf) -> None:
    """Bound the connections of the ORM and the duration of all statements.

    The ORM's connections come from a pool, for which a page waits. Without a pool, each request would open one.

    Args:
        database: the entry in `settings.DATABASES`; changed before the first connection is opened.
        conf: the site's settings.
    """
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
