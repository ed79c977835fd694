"""pgbouncer with the configuration of `deploy/`, in front of an embedded PostgreSQL."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path

import pytest

from adk_site.embedded.paths import CHECKOUT, socket_dir
from adk_site.embedded.postgres import as_unprivileged_user
from tests.stack.web_process import wait_until_listening

NO_PGBOUNCER = "The tests of connections need pgbouncer: install it, and run make test TESTS=tests/stack"
SESSIONS = 3
"""Sessions of PostgreSQL for each database of pgbouncer: fewer than one process asks for."""


@contextmanager
def running_pgbouncer(data: Path, port: int) -> Iterator[None]:
    """Run pgbouncer on a port, for the PostgreSQL of a data directory. Skip the test where it is not installed."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail(NO_PGBOUNCER)
        pytest.skip(NO_PGBOUNCER)
    config = data / "pgbouncer.ini"
    with config.open("w") as file:
        _config(data, port).write(file)
    with (data / "pgbouncer.log").open("w") as log:
        process = subprocess.Popen([*as_unprivileged_user(), program, str(config)], stdout=log, stderr=log)
    try:
        wait_until_listening(port)
        yield
    finally:
        process.kill()  # pgbouncer 1.23 and newer waits for its clients after SIGTERM
        process.wait()


def _config(data: Path, port: int) -> ConfigParser:
    """Return the configuration of `deploy/` with the addresses of the test, whose PostgreSQL asks for no password."""
    config = ConfigParser(interpolation=None)
    config.read(CHECKOUT / "deploy" / "pgbouncer.ini")
    for name, server in config["databases"].items():
        server = server.replace("host=postgres dbname=site", f"host={socket_dir(data)} dbname=postgres")
        config["databases"][name] = f"{server} user=postgres"
    config["pgbouncer"].update(
        {
            "listen_addr": "127.0.0.1",
            "listen_port": str(port),
            "auth_type": "any",
            "admin_users": "console",
            "default_pool_size": str(SESSIONS),
        }
    )
    return config
