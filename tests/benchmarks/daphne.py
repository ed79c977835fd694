"""One Daphne process to measure: its CPU time and its memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import psutil

from tests.stack.web_process import free_port, wait_until_listening, web_command


@contextmanager
def daphne(
    application: str, settings_module: str, log: IO[str] | None = None, **environment: str
) -> Iterator[tuple[int, psutil.Process]]:
    """A running Daphne: its port and its process. It writes its log where it is told, or where this process does."""
    port = free_port()
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": settings_module, **environment}
    process = subprocess.Popen(web_command(port, application), env=environment, stderr=log)
    try:
        wait_until_listening(port)
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
