"""Contract: a process notices that the machine of PostgreSQL or Redis is gone, and PostgreSQL that a process's is.

A machine without power closes no connection. Needs a network of namespaces, which only root may make.
"""

from __future__ import annotations

import os
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
from tests.network import Network, NoNetworkError
from tests.network.servers import listening_servers, url_of_postgres, url_of_redis
from tests.network.waiting import LOCK
from tests.stack.stack import OWN_VARIABLES

pytestmark = pytest.mark.stack
NOTICED_SECONDS = LOST_SECONDS + 15.0
"""Upper bound with a busy machine; without options the waits take a quarter of an hour and more."""


@pytest.fixture
def network() -> Iterator[Network]:
    try:
        with Network("site") as network:
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


@pytest.mark.timeout(120)  # an end that notices nothing would be waited for
def test_all_ends_of_connections_notice_that_the_other_machine_is_gone(network: Network, data: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
    environment |= {
        "ADK_DEV": "1",
        "ADK_DATA_DIR": str(data),
        "DJANGO_SETTINGS_MODULE": "adk_site.settings",
        "DATABASE_URL": url_of_postgres(network),
        "REDIS_URL": url_of_redis(network),
    }
    site = subprocess.Popen(
        ["ip", "netns", "exec", network.namespace("site"), sys.executable, "-m", "tests.network.waiting"],
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert site.stdin and site.stdout
    with site, psycopg.connect(postgres_url(data), autocommit=True) as connection:
        try:
            assert site.stdout.readline() == "ready\n"
            network.cut_off(network.sites["site"])
            cut_at = time.monotonic()
            site.stdin.write("\n")
            site.stdin.flush()
            ended = {site.stdout.readline().strip() for _ in range(3)}
            connection.execute("SET lock_timeout = '60s'")
            connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])
            assert time.monotonic() - cut_at < NOTICED_SECONDS
            assert ended == {"wait_for_message", "wait_for_statement", "send_statement"}
        finally:
            site.kill()
