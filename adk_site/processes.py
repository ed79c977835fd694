"""Wait for and kill processes that are not children of this process."""

import time
from collections.abc import Iterable
from contextlib import suppress

import psutil


def wait_until_gone(processes: Iterable[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait up to `seconds` for the end of the processes; return those that still run."""
    deadline = time.monotonic() + seconds
    left = [process for process in processes if is_alive(process)]
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = [process for process in left if is_alive(process)]
    return left


def is_alive(process: psutil.Process) -> bool:
    """Return True while the process runs. A zombie, whose parent has not collected its status, counts as ended."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill the processes and wait until they are gone."""
    processes = list(processes)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    wait_until_gone(processes, seconds=5)
