"""Any process killed at any moment: nothing committed is lost or doubled, and everything ends (design.md).

A short run of what `make chaos` does for longer.
"""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.stack
def test_nothing_is_lost_or_doubled_when_processes_are_killed() -> None:
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
    assert "nothing lost, nothing doubled" in run.stdout
    assert " 0 resumed" not in run.stdout, "nobody was interrupted, so this showed nothing"
