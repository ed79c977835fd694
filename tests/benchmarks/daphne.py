"""A Daphne process, its CPU time and its memory."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO

import psutil

from tests.forked_program import packages
from tests.free_port import free_port
from tests.stack.web_process import wait_until_listening, web_command, web_program


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


@contextmanager
def forked_daphne(
    settings_module: str, environment: Mapping[str, str], log: IO[str] | None = None
) -> Iterator[tuple[int, psutil.Process]]:
    """Run the site's Daphne as `daphne` does, in a fork that has imported the packages: for tests, not measurements."""
    port = free_port()
    variables = {**os.environ, "DJANGO_SETTINGS_MODULE": settings_module, **environment}
    with open(os.devnull) as nothing:
        files = (nothing.fileno(), 1, 2 if log is None else log.fileno())
        process = packages().run(*web_program(port), environment=variables, files=files)
    try:
        wait_until_listening(port)
        yield port, psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU time so far, in user and system mode."""
    times = process.cpu_times()
    return float(times.user + times.system)


def memory(process: psutil.Process) -> int:
    """Return the bytes of memory that the process shares with no other (unique set size)."""
    return int(process.memory_full_info().uss)
