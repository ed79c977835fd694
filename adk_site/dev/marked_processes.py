"""Find and stop the processes of a data directory's site, even if their parent was killed.

The environment of each process contains the data directory (the mark), so there is no pid file to go stale.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from adk_site.embedded.server import kill, wait_until_gone

MARK = "ADK_STACK"
STOP_SECONDS = 30.0
"""Upper bound. A site usually stops in some seconds; on a busy machine its servers need more."""


def restart_with_mark(data: Path) -> None:
    """Execute this program again with the mark, unless it has the mark."""
    # Other processes see only the environment with which a program was started, so the mark cannot be added later.
    # Child processes must not inherit it: the embedded servers may outlive this program.
    if os.environ.pop(MARK, None) != str(data):
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **mark_variables(data)})  # noqa: S606 (itself)


def mark_variables(data: Path) -> dict[str, str]:
    """Return the environment variables that mark a process of the site."""
    return {MARK: str(data)}


def stop_marked_processes(data: Path) -> int:
    """Terminate the other marked processes, kill them after a timeout, and return their number.

    A process whose parent is marked, too, is left to its parent: `make run` stops its processes in order and then ends
    with exit code 0.
    """
    found = {process.pid: process for process in psutil.process_iter() if _is_marked(process, data)}
    for process in found.values():
        with suppress(psutil.NoSuchProcess):  # the end of one process ends others
            if process.ppid() not in found:
                process.terminate()
    kill(wait_until_gone(found.values(), STOP_SECONDS))
    return len(found)


def _is_marked(process: psutil.Process, data: Path) -> bool:
    try:
        return process.pid != os.getpid() and process.environ().get(MARK) == str(data)
    except psutil.Error:  # the process has just ended, or belongs to another user
        return False
