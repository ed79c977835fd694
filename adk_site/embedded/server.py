"""The contract of an embedded server, and functions to run, kill and await its processes."""

import subprocess
import time
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import psutil

from adk_site.embedded.paths import EmbeddedServerError


class EmbeddedServer(Protocol):
    """Server of a data directory."""

    def start(self) -> None:
        """Start the server, or join it if it is running; it accepts connections on return."""

    def stop(self) -> None:
        """Stop the server; none of its processes is running on return."""


def run_program(command: Sequence[str], purpose: str, log: Path) -> None:
    """Run a program of a server and wait for its end.

    Raises:
        EmbeddedServerError: the program failed; the message has the last lines of `log`.
    """
    result = subprocess.run(  # noqa: S603 (a server's own program, with fixed arguments)
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    if result.returncode:
        reason = result.stderr.strip() or last_lines(log)
        raise EmbeddedServerError(f"{purpose} failed (see {log}): {reason}")


def last_lines(log: Path, count: int = 5) -> str:
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-count:])


def kill_servers(programs: Container[str], text: str) -> None:
    """Kill processes of `programs` with `text` in their command line, and wait for their end."""
    kill(
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] in programs and text in " ".join(process.info["cmdline"] or ())
    )


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
