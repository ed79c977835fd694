"""Lifetime of the embedded servers: from the first process that needs them to the last.

Each process holds a shared lock on `servers.users` while it needs the servers. Starting and stopping happens under the
exclusive lock `servers.lock`. On leaving, a process tries to make its shared lock exclusive: if this succeeds, it was
the last process, and stops the servers. The kernel releases the locks of a killed process, so no list of pids can go
stale. The locks are POSIX record locks, which a forked child does not inherit.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from adk_site.embedded.paths import make_private_dir, socket_dir
from adk_site.embedded.postgres import Postgres
from adk_site.embedded.redis import Redis
from adk_site.embedded.server import EmbeddedServer


@contextmanager
def running_servers(data: Path) -> Iterator[None]:
    """Start or join the servers without a URL in the environment; stop them when no process needs them.

    Enter it only once in a process: record locks are not counted.

    Raises:
        EmbeddedServerError: a wheel is not installed, or a server does not start.
    """
    servers = _needed_servers(data)
    if not servers:
        yield
        return
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (data / "servers.users").open("a+") as users:
        try:
            with _start_stop_lock(data):
                # Within the start-stop lock: otherwise a process that leaves could stop the servers we are about to
                # use.
                fcntl.lockf(users, fcntl.LOCK_SH)
                make_private_dir(socket_dir(data))
                for server in servers:
                    server.start()
            yield
        finally:
            with _start_stop_lock(data):
                if _is_last(users):
                    _stop(servers, data)


def stop_servers(data: Path) -> None:
    """Stop the embedded servers of `data`, even if processes use them."""
    if not data.exists():
        return
    with _start_stop_lock(data):
        _stop(_needed_servers(data), data)


def _needed_servers(data: Path) -> list[EmbeddedServer]:
    servers: list[EmbeddedServer] = []
    if not os.environ.get("DATABASE_URL"):
        servers.append(Postgres(data))
    if not os.environ.get("REDIS_URL"):
        servers.append(Redis(data))
    return servers


def _stop(servers: list[EmbeddedServer], data: Path) -> None:
    for server in reversed(servers):
        server.stop()
    shutil.rmtree(socket_dir(data), ignore_errors=True)


@contextmanager
def _start_stop_lock(data: Path) -> Iterator[None]:
    """Hold the lock that lets a single process at a time start or stop servers."""
    with (data / "servers.lock").open("a+") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        yield


def _is_last(users: TextIO) -> bool:
    with suppress(BlockingIOError, PermissionError):
        fcntl.lockf(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
