"""The mark by which the processes of a data directory's site are found, even when their parent was killed.

The mark is a variable of the environment that a program was started with, which other processes can read and which
forks share; so no file of pids can be wrong.
"""

import os
from pathlib import Path

import psutil

from adk_site.processes import kill, wait_until_gone

MARK = "ADK_STACK"
STOP_SECONDS = 6.0


def mark(data: Path) -> dict[str, str]:
    """Return the variables of a process that belongs to the site."""
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
