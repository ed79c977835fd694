"""The runtime alone, in memory, beside google-adk in an environment of its own (`ADK_PYTHON`, or `.venv-adk`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from sessions_app.process.threads import in_thread

HISTORIES = (10, 100, 1_000)
ADK_PYTHON = os.environ.get("ADK_PYTHON", ".venv-adk/bin/python")


async def measure() -> list[str]:
    """Return a line for the import, and one for each length of history."""
    own = await in_thread(_run, sys.executable, "runtime")
    if not Path(ADK_PYTHON).exists():
        return [
            _import_line("runtime", own),
            *_step_lines(own),
            f"  google-adk: not measured, no {ADK_PYTHON}",
        ]
    other = await in_thread(_run, ADK_PYTHON, "google-adk")
    return [_import_line("runtime", own), _import_line("google-adk", other), *_step_lines(own, other)]


def _run(python: str, package: str) -> dict[str, Any]:
    command = [python, "-m", "tests.benchmarks.alone_program", package]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def _import_line(package: str, found: dict[str, Any]) -> str:
    seconds, megabytes = found["import_seconds"], found["import_megabytes"]
    return f"import of {package}: {seconds:.2f} s of CPU, {megabytes:.0f} MB"


def _step_lines(own: dict[str, Any], other: dict[str, Any] | None = None) -> list[str]:
    lines = []
    for index, events in enumerate(HISTORIES):
        line = f"  in memory after {events:5} events: {own['steps'][index]:6.0f} steps per CPU second"
        if other:
            theirs = other["steps"][index]
            line += f", google-adk {theirs:5.0f}: {own['steps'][index] / theirs:.1f} times"
        lines.append(line)
    return lines
