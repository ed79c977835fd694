"""Contract: whatever process is killed at any moment, no commit is lost or repeated, and every invocation ends.

This is a short run of `make chaos`. A run always ends with its verdict, and leaves no process behind when it is
stopped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from adk_site.embedded.paths import socket_dir
from tests.forked_program import SHARED


@contextmanager
def _chaos(*options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.chaos", "--seed", "5", *options]
    # Its processes are to be its own descendants.
    environment = {name: value for name, value in os.environ.items() if name != SHARED}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        try:
            yield run
        finally:
            run.terminate()


@pytest.mark.stack
@pytest.mark.timeout(0)  # on a busy machine a run takes as long as it makes progress
def test_nothing_is_lost_or_repeated_when_processes_are_killed() -> None:
    with _chaos("--people", "6", "--messages", "4", "--kills", "8", "--pause", "0.7") as run:
        printed, _ = run.communicate()
    assert run.returncode == 0, printed
    assert "nothing lost, nothing repeated" in printed
    assert " 0 resumed" not in printed, "the kills interrupted no invocation, so this run tested nothing"
    assert " 0 reconnects of programs" not in printed, "no stream of a program broke"


@pytest.mark.stack
def test_a_run_that_is_stopped_leaves_nothing_behind() -> None:
    with _chaos("--people", "2") as run:
        assert run.stdout is not None
        started = next(line for line in run.stdout if "the site runs in" in line)
        data = Path(started.split()[-1])
        processes = psutil.Process(run.pid).children(recursive=True)
        run.terminate()
        printed = run.stdout.read()
    assert "stopped before its verdict" in printed
    assert len(processes) > 6  # web, workers, beat and model
    assert [process for process in processes if process.is_running()] == []
    assert not data.exists()
    assert [title for title in _titles() if str(data) in title or str(socket_dir(data)) in title] == []


def _titles() -> list[str]:
    """Return the command lines of all processes; PostgreSQL and Redis name their data or their socket there."""
    return [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
