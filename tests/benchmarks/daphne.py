"""A Daphne process for measurements, its CPU time and its memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO

import psutil

from tests.free_port import free_port
from tests.stack.web_process import wait_until_listening, web_command


@contextmanager
def daphne(
    application: str,
    settings_module: str,
    log: IO[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[tuple[int, psutil.Process]]:
    """Run Daphne; yield its port and its process. Its log goes to `log`, or to this process's stderr."""
    port = free_port()
    variables = {**os.environ, "DJANGO_SETTINGS_MODULE": settings_module, **(environment or {})}
    process = subprocess.Popen(web_command(port, application), env=variables, stderr=log)
    try:
        wait_until_listening(port)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU time so far, in user and system mode."""
    times = process.cpu_times()
    return float(times.user + times.system)


def memory(process: psutil.Process) -> int:
    """Return the bytes of memory that the process shares with no other (unique set size)."""
    return int(process.memory_full_info().uss)
