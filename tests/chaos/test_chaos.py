"""Contract: whatever process is killed at any moment, no commit is lost or repeated, and every invocation ends.

This is a short run of `make chaos`.
"""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.stack
def test_nothing_is_lost_or_repeated_when_processes_are_killed() -> None:
    run = subprocess.run(
        [
            *(sys.executable, "-m", "tests.chaos"),
            *("--seed", "5", "--people", "6", "--messages", "4", "--kills", "8", "--pause", "0.7"),
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "nothing lost, nothing repeated" in run.stdout
    assert " 0 resumed" not in run.stdout, "the kills interrupted no invocation, so this run tested nothing"
    assert " 0 reconnects of programs" not in run.stdout, "no stream of a program broke"
