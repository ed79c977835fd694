"""Output of all processes in one terminal, each line with the time and the name of its process."""

import sys
from datetime import datetime

READY = {"web": "Listening on TCP address", "worker": " ready.", "jobs": " ready."}
"""Process name -> the text that Daphne and Celery log once they accept connections and work."""
COLOURS = {"web": 36, "worker": 33, "jobs": 32, "beat": 35}


class Terminal:
    """Prints lines of processes, and a welcome when all processes are ready."""

    def __init__(self) -> None:
        self._starting = set(READY)
        self._welcome = ""

    def expect_ready(self, welcome: str) -> None:
        """Print the welcome when the last process becomes ready."""
        self._welcome = welcome

    def show(self, name: str, line: str) -> None:
        """Print one line of a process."""
        prefix = f"{datetime.now().astimezone():%H:%M:%S} {name:6} | "
        if sys.stdout.isatty() and name in COLOURS:
            prefix = f"\033[{COLOURS[name]}m{prefix}\033[0m"
        print(prefix + line)
        if name in self._starting and READY[name] in line:
            self._starting.remove(name)
            if not self._starting:
                print(self._welcome)
