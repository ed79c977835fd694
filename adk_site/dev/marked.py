"""Which processes belong to the site of a data directory, even when the one that started them was killed.

Each of them has the directory in its environment; so there is no file of pids that could be wrong.
"""

import os
import sys
from pathlib import Path

import psutil

from adk_site.processes import kill, wait_until_gone

MARK = "ADK_STACK"
STOP_SECONDS = 6.0


def bear_mark(data: Path) -> None:
    """Start this program again with the mark, unless it bears it.

    The environment that other processes see is the one a program was started with. Children do not inherit
    the mark: the embedded servers are nobody's, and may outlive this program.
    """
    if os.environ.pop(MARK, None) != str(data):
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **mark(data)})  # noqa: S606 (this very program)


def mark(data: Path) -> dict[str, str]:
    """The variables of a process that belongs to the site."""
    return {MARK: str(data)}


def stop_marked(data: Path) -> int:
    """Stop the other processes that bear the mark, by force if need be; returns how many there were."""
    found = [process for process in psutil.process_iter() if _bears_mark(process, data)]
    for process in found:
        process.terminate()
    kill(wait_until_gone(found, STOP_SECONDS))
    return len(found)


def _bears_mark(process: psutil.Process, data: Path) -> bool:
    try:
        return process.pid != os.getpid() and process.environ().get(MARK) == str(data)
    except psutil.Error:  # it has just ended, or is somebody else's
        return False
