"""Find and stop the processes of a data directory's site, even when their parent was killed.

Each process was started with the data directory in its environment (the mark), which other processes can read and
forks share. So there is no pid file that could be stale.
"""

import os
from pathlib import Path

import psutil

from adk_site.processes import kill, wait_until_gone

MARK = "ADK_STACK"
STOP_SECONDS = 6.0


def mark_variables(data: Path) -> dict[str, str]:
    """Return the environment variables that mark a process of the site."""
    return {MARK: str(data)}


def stop_marked_processes(data: Path) -> int:
    """Terminate the other marked processes, kill them after a timeout, and return their number."""
    found = [process for process in psutil.process_iter() if _is_marked(process, data)]
    for process in found:
        process.terminate()
    kill(wait_until_gone(found, STOP_SECONDS))
    return len(found)


def _is_marked(process: psutil.Process, data: Path) -> bool:
    try:
        return process.pid != os.getpid() and process.environ().get(MARK) == str(data)
    except psutil.Error:  # the process has just ended, or belongs to another user
        return False
