"""Django's PostgreSQL backend with a connection pool that survives a restart of PostgreSQL."""

from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg_pool import ConnectionPool


class DatabaseWrapper(base.DatabaseWrapper):
    """Connection from Django's pool, tested before use."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a working connection."""
        connection = super().get_new_connection(conn_params)
        try:
            ConnectionPool.check_connection(connection)
        # A restart of PostgreSQL breaks all idle connections. Django's own test (`CONN_HEALTH_CHECKS`) finds them one
        # by one, with growing pauses; draining the pool replaces all of them.
        except psycopg.OperationalError:
            self.pool.putconn(connection)
            self.pool.drain()
            return super().get_new_connection(conn_params)
        return connection
