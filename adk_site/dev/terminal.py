"""What a person sees of the processes in the terminal."""

import sys
from dataclasses import dataclass, field

from honcho.manager import SYSTEM_PRINTER_NAME
from honcho.printer import Message, Printer

READY = {"web": "Listening on TCP address", "worker": " ready.", "jobs": " ready."}
"""What Daphne and Celery log once they accept connections and work."""


@dataclass
class Terminal:
    """Prints the lines of all processes, and the welcome as soon as the site answers and works."""

    welcome: str
    width: int = 0
    first_end: str | None = None  # the first process that ended, in the manager's words
    _starting: set[str] = field(default_factory=lambda: set(READY))
    _printer: Printer = field(default_factory=lambda: Printer(sys.stdout))

    def write(self, message: Message) -> None:
        """Called by the manager with each line."""
        line = message.data.decode(errors="replace") if isinstance(message.data, bytes) else message.data
        self._printer.width = self.width
        self._printer.write(message)
        if message.name in self._starting and READY[message.name] in line:
            self._starting.remove(message.name)
            if not self._starting:
                print(self.welcome, flush=True)
        if message.name == SYSTEM_PRINTER_NAME and " stopped (rc=" in line and self.first_end is None:
            self.first_end = line.strip()
