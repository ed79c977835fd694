"""Connections to the one of several PostgreSQL servers that accepts writes.

libpq tries the servers of a URL in their order, and waits `connect_timeout` for one whose machine has died. After a
failover each new connection would wait for it. Therefore the server that has accepted a connection is asked first.
"""

from typing import Any, Self

import psycopg

_accepted: dict[str, str] = {}
"""The host that has accepted the last connection, by the hosts of the setting."""


def last_accepted_first(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of psycopg in which the host that has accepted the last connection comes first."""
    hosts = parameters.get("host") or ""
    # A list of ports would have to be in the same order.
    if hosts not in _accepted or "," in str(parameters.get("port", "")):
        return parameters
    others = [host for host in hosts.split(",") if host != _accepted[hosts]]
    return {**parameters, "host": ",".join([_accepted[hosts], *others])}


def note_accepted(
    parameters: dict[str, Any], connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]
) -> None:
    """Note which of several hosts has accepted a connection with these parameters."""
    hosts = parameters.get("host") or ""
    if "," in hosts:
        _accepted[hosts] = connection.info.host


class Connection(psycopg.Connection[Any]):
    """Connection to one of several servers, for a pool."""

    @classmethod
    def connect(cls, conninfo: str = "", **parameters: Any) -> Self:
        connection = super().connect(conninfo, **last_accepted_first(parameters))
        note_accepted(parameters, connection)
        return connection


class AsyncConnection(psycopg.AsyncConnection[Any]):
    """The same for the event loop."""

    @classmethod
    async def connect(cls, conninfo: str = "", **parameters: Any) -> Self:
        connection = await super().connect(conninfo, **last_accepted_first(parameters))
        note_accepted(parameters, connection)
        return connection
