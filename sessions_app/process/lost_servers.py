"""Options that end connections to a machine that has died or cannot be reached.

Such a machine does not close its connections. By default a process would wait a quarter of an hour for the answer to
what it has sent, and hours for a message of Redis. PostgreSQL would hold the locks of a dead process for hours.
"""

import socket
from typing import Any

IDLE_SECONDS = 4
"""Silence after which the other machine is asked whether it is there."""
PROBE_SECONDS = 2
"""Time between two such questions. Three must be lost: one of a hundred packets may be."""
PROBES = 3
LOST_SECONDS = IDLE_SECONDS + PROBES * PROBE_SECONDS
"""Time for which the other machine may acknowledge nothing."""
DATABASE_OPTIONS = {
    "keepalives_idle": IDLE_SECONDS,
    "keepalives_interval": PROBE_SECONDS,
    "keepalives_count": PROBES,
    "tcp_user_timeout": LOST_SECONDS * 1000,
}
"""For the `OPTIONS` of Django's `DATABASES`. Without meaning for a Unix socket."""

SESSION_OPTIONS = (
    f"-c tcp_keepalives_idle={IDLE_SECONDS} -c tcp_keepalives_interval={PROBE_SECONDS} "
    f"-c tcp_keepalives_count={PROBES} -c tcp_user_timeout={LOST_SECONDS * 1000}"
)
"""The same for PostgreSQL's end of a connection, in the option `options` of libpq. pgbouncer refuses it."""


def tcp_options() -> dict[int, int]:
    """Return the same for a socket: the options that this operating system knows, with their values."""
    values = {
        "TCP_KEEPIDLE": IDLE_SECONDS,
        "TCP_KEEPINTVL": PROBE_SECONDS,
        "TCP_KEEPCNT": PROBES,
        "TCP_USER_TIMEOUT": LOST_SECONDS * 1000,
    }
    return {getattr(socket, name): value for name, value in values.items() if hasattr(socket, name)}


def redis_options(url: str) -> dict[str, Any]:
    """Return options for a host of `CHANNEL_LAYERS`. A Unix socket would refuse them."""
    return {} if url.startswith("unix:") else {"socket_keepalive_options": tcp_options()}
