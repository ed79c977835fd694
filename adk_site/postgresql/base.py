"""Django's PostgreSQL backend, for which a restart of PostgreSQL and a failover are over soon."""

from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg_pool import ConnectionPool

from sessions_app.process.failover import last_accepted_first, note_accepted


class DatabaseWrapper(base.DatabaseWrapper):
    """Connection to the server that accepts writes; one from Django's pool is tested before use."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a working connection."""
        if not self.pool:
            connection = super().get_new_connection(last_accepted_first(conn_params))
            note_accepted(conn_params, connection)
            return connection
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
