"""`python -m adk_site.web`: Daphne with its usual arguments, on uvloop, which needs less CPU than asyncio's loop."""

import os
import sys

import uvloop
from twisted.internet import asyncioreactor

asyncioreactor.install(uvloop.new_event_loop())  # type: ignore[no-untyped-call]

# Imported after the reactor is installed: Daphne installs its own if there is none.
from daphne.cli import CommandLineInterface  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.db import connections  # noqa: E402

from sessions_app.conf import conf  # noqa: E402
from sessions_app.process.failover import Connection  # noqa: E402
from sessions_app.process.replica import REPLICA  # noqa: E402

REPLICA_WAIT_SECONDS = 2.0
"""Longest wait for a connection to the replica: then the page is read from the primary."""


def _limit_database_use() -> None:
    """Limit the connections of the ORM and the duration of all statements. Statements of workers may be long."""
    site = conf()
    # Changed before Daphne imports the application, which may open the first connection.
    for alias, database in settings.DATABASES.items():
        database.update(CONN_MAX_AGE=0, CONN_HEALTH_CHECKS=False)
        options = database.setdefault("OPTIONS", {})
        wait = REPLICA_WAIT_SECONDS if alias == REPLICA else site.page_wait_seconds
        # A page waits for a connection of the pool. Without a pool, each concurrent request would open its own.
        options["pool"] = {
            "min_size": 0,
            "max_size": site.page_connections,
            "timeout": wait,
            "reconnect_timeout": wait,
            "connection_class": Connection,
        }
        if site.statement_seconds:
            timeout = f"-c statement_timeout={round(site.statement_seconds * 1000)}"
            options["options"] = f"{options.get('options', '')} {timeout}".strip()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")
    try:
        _limit_database_use()
    except ImproperlyConfigured as error:
        sys.exit(f"{error}")
    # Imported after the settings, whose error is one sentence.
    from adk_site.daphne import end_slow_requests, limit_bodies, mask_access_log

    limit_bodies()
    end_slow_requests()
    mask_access_log()
    CommandLineInterface.entrypoint()
    # Threads of requests that will not be answered any more wait for a connection, and the process for these threads.
    for alias in settings.DATABASES:
        connections[alias].close_pool()  # type: ignore[attr-defined]  # of the PostgreSQL backend
