"""What fails under a site: a server or a web process that is killed without warning, and started again."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil

from adk_site.embedded.paths import CHECKOUT, socket_dir
from adk_site.embedded.server import kill_servers
from tests.stack.stack import START_SECONDS, Stack, free_port


def kill_postgres(data: Path) -> None:
    """Kill the embedded PostgreSQL and all its backends."""
    kill_tree(int((data / "postgres" / "postmaster.pid").read_text().split()[0]))


def kill_redis(data: Path) -> None:
    """Kill the embedded Redis."""
    kill_servers("redis-server", str(socket_dir(data)))


def kill_tree(pid: int) -> None:
    """SIGKILL for the process and its children, at once."""
    try:
        parent = psutil.Process(pid)
        family = [*parent.children(recursive=True), parent]
    except psutil.NoSuchProcess:
        return
    for process in family:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(family, timeout=10)


def wait_until_listening(port: int) -> None:
    """Wait until a web process takes connections."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"Nobody listens on port {port}.")


class Web:
    """One more web process of a site, on a port of its own. A context manager: killed at the end."""

    def __init__(self, site: Stack) -> None:
        self.site = site
        self.port = free_port()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it; it takes connections when this returns."""
        command = [
            "adk_site.web",
            "-v",
            "0",
            "-b",
            "127.0.0.1",
            "-p",
            str(self.port),
            "adk_site.asgi:application",
        ]
        with (self.site.data / "web2.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=CHECKOUT,
                env=self.site.environment,
                stdout=log,
                stderr=log,
            )
        wait_until_listening(self.port)

    def kill(self) -> None:
        """Kill it without warning."""
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Web:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
