"""Contract: after a failover a new connection does not wait for the server that is gone."""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest
from django.db.utils import ConnectionHandler

from adk_site.embedded.paths import socket_dir
from adk_site.postgresql.base import DatabaseWrapper
from sessions_app.process.failover import AsyncConnection, Connection
from tests.network.servers import ListeningPostgres

SECONDS = 2
"""Shortest time for which psycopg waits for a server that does not answer."""
POOL = {"min_size": 0, "max_size": 2, "connection_class": Connection}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Only Linux has all addresses of 127.0.0.0/8."
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a PostgreSQL."""
    address = f"127.1.{secrets.randbelow(250)}.1"
    data = tmp_path_factory.mktemp("failover")
    socket_dir(data).mkdir(mode=0o700)
    server = ListeningPostgres(data, address)
    server.start()
    yield address
    server.stop()


@pytest.fixture
def hosts(address: str) -> Iterator[str]:
    """Return two addresses: at the first nobody answers, at the second PostgreSQL."""
    gone = f"127.2.{secrets.randbelow(250)}.{secrets.randbelow(250)}"
    with socket.create_server((gone, 5432)):
        yield f"{gone},{address}"


def seconds_to_connect(hosts: str, **options: Any) -> float:
    """Return the time that a new connection of Django takes."""
    database: dict[str, Any] = {
        "ENGINE": "adk_site.postgresql",
        "NAME": "postgres",
        "USER": "postgres",
        "HOST": hosts,
    }
    database["OPTIONS"] = {"connect_timeout": SECONDS, **options}
    # Another alias than that of the tests: Django keeps a pool for each.
    wrapper = cast(DatabaseWrapper, ConnectionHandler({"default": {}, "failover": database})["failover"])
    began = time.monotonic()
    connection = wrapper.get_new_connection(wrapper.get_connection_params())
    seconds = time.monotonic() - began
    connection.close()
    wrapper.close_pool()
    return seconds


def test_a_worker_asks_first_the_server_that_accepted_its_last_connection(hosts: str) -> None:
    assert seconds_to_connect(hosts) >= SECONDS
    assert seconds_to_connect(hosts) < SECONDS


def test_a_web_process_asks_first_the_server_that_accepted_its_last_connection(hosts: str) -> None:
    assert seconds_to_connect(hosts, pool=POOL) >= SECONDS
    assert seconds_to_connect(hosts, pool=POOL) < SECONDS


def test_an_event_loop_asks_first_the_server_that_accepted_its_last_connection(hosts: str) -> None:
    async def seconds_to_connect() -> float:
        began = time.monotonic()
        connection = await AsyncConnection.connect(
            host=hosts, user="postgres", dbname="postgres", connect_timeout=SECONDS
        )
        seconds = time.monotonic() - began
        await connection.close()
        return seconds

    assert asyncio.run(seconds_to_connect()) >= SECONDS
    assert asyncio.run(seconds_to_connect()) < SECONDS
