"""Contract: a process notices that the machine of PostgreSQL or Redis is gone, and PostgreSQL that a process's is.

A machine without power closes no connection. Needs a network of namespaces, which only root may make.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from adk_site.embedded.paths import CHECKOUT, socket_dir
from adk_site.embedded.postgres import Postgres, postgres_url
from sessions_app.process.lost_servers import LOST_SECONDS
from tests.network import Network, NoNetworkError, separate_network
from tests.network.servers import listening_servers, url_of_postgres, url_of_redis
from tests.network.waiting import LOCK
from tests.stack.stack import OWN_VARIABLES

pytestmark = pytest.mark.stack
NOTICED_SECONDS = LOST_SECONDS + 15.0
"""Upper bound with a busy machine; without options the waits take a quarter of an hour and more."""

INTERRUPTED_SECONDS = 5.5


@pytest.fixture
def network() -> Iterator[Network]:
    try:
        with separate_network(), Network("site") as network:
            yield network
    except NoNetworkError as error:
        pytest.skip(str(error))


@pytest.fixture
def data(network: Network, tmp_path: Path) -> Iterator[Path]:
    """Return the directory of a PostgreSQL and a Redis in the network."""
    socket_dir(tmp_path).mkdir(mode=0o700)
    Postgres(tmp_path).start()  # makes the cluster
    postgres, redis = listening_servers(tmp_path, network)
    yield tmp_path
    redis.kill()
    postgres.stop()


@pytest.fixture
def site(network: Network, data: Path) -> Iterator[subprocess.Popen[str]]:
    """Return the program that waits for the servers."""
    environment = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
    environment |= {
        "ADK_DEV": "1",
        "ADK_DATA_DIR": str(data),
        "DJANGO_SETTINGS_MODULE": "adk_site.settings",
        "DATABASE_URL": url_of_postgres(network),
        "REDIS_URL": url_of_redis(network),
    }
    with subprocess.Popen(
        ["ip", "netns", "exec", network.namespace("site"), sys.executable, "-m", "tests.network.waiting"],
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            assert program.stdout and program.stdout.readline() == "ready\n"
            yield program
        finally:
            program.kill()


@pytest.mark.timeout(120)  # an end that notices nothing would be waited for
def test_all_ends_of_connections_notice_that_the_other_machine_is_gone(
    network: Network, data: Path, site: subprocess.Popen[str]
) -> None:
    assert site.stdin and site.stdout
    network.cut_off(network.sites["site"])
    cut_at = time.monotonic()
    site.stdin.write("\n")
    site.stdin.flush()
    ended = {site.stdout.readline().strip() for _ in range(3)}
    with psycopg.connect(postgres_url(data)) as connection:
        connection.execute("SET lock_timeout = '60s'")
        connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    assert time.monotonic() - cut_at < NOTICED_SECONDS
    assert ended == {"wait_for_message", "wait_for_statement", "send_statement"}


def test_connections_outlast_an_interruption_of_seconds(
    network: Network, data: Path, site: subprocess.Popen[str]
) -> None:
    """Also when one question whether the other machine is there is lost."""
    assert site.stdout
    network.cut_off(network.sites["site"])
    time.sleep(INTERRUPTED_SECONDS)
    network.connect(network.sites["site"])
    ended, _, _ = select.select([site.stdout], [], [], LOST_SECONDS)
    assert not ended
    with psycopg.connect(postgres_url(data)) as connection:
        assert connection.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone() == (False,)
