"""`make stop` leaves the order of the end to the main process of the site."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from adk_site.dev.marked_processes import mark_variables, stop_marked_processes

CHILD = "import sys; sys.stdin.read()"
"""Ends with code 0 when its parent asks for it, and with that of SIGTERM when somebody else does."""
PARENT = f"""
import signal, subprocess, sys

def stop(*_):
    child.stdin.close()
    sys.exit(child.wait())

child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdin=subprocess.PIPE)
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
signal.pause()
"""


def test_a_marked_process_stops_its_marked_children_itself(tmp_path: Path) -> None:
    environment = {**os.environ, **mark_variables(tmp_path)}
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        assert stop_marked_processes(tmp_path) == 2
        assert parent.wait() == 0
