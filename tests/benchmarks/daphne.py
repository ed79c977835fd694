"""One Daphne process to measure: its CPU time and its memory."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import psutil


@contextmanager
def daphne(
    application: str, settings_module: str, log: IO[str] | None = None, **environment: str
) -> Iterator[tuple[int, psutil.Process]]:
    """A running Daphne: its port and its process. It writes its log where it is told, or where this process does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": settings_module, **environment}
    command = [
        sys.executable,
        "-m",
        "adk_site.web",
        "-v",
        "0",
        "-b",
        "127.0.0.1",
        "-p",
        str(port),
        application,
    ]
    process = subprocess.Popen(command, env=environment, stderr=log)
    try:
        _wait_for(port)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def cpu_seconds(process: psutil.Process) -> float:
    """CPU time so far, in user and system mode."""
    times = process.cpu_times()
    return float(times.user + times.system)


def memory(process: psutil.Process) -> int:
    """The bytes that the process alone has."""
    return int(process.memory_full_info().uss)


def _wait_for(port: int) -> None:
    for _ in range(1_200):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"Daphne does not answer on port {port}.")
