"""Terminal output of `make run`."""

import sys
from dataclasses import dataclass, field

from honcho.manager import SYSTEM_PRINTER_NAME
from honcho.printer import Message, Printer

READY = {"web": "Listening on TCP address", "worker": " ready.", "jobs": " ready."}
"""Process name -> the text that Daphne or Celery logs once it accepts connections or tasks."""


@dataclass
class Terminal:
    """Honcho printer that prints the lines of all processes, and the welcome once all of them are ready.

    Attributes:
        welcome: Text to print when the site is ready.
        width: Width of the process name column; honcho sets it.
        first_exit: Honcho's line about the first process that ended; None while all processes run.
    """

    welcome: str
    width: int = 0
    first_exit: str | None = None
    _starting: set[str] = field(default_factory=lambda: set(READY))
    _printer: Printer = field(default_factory=lambda: Printer(sys.stdout))

    def write(self, message: Message) -> None:
        """Print one line; honcho's manager calls this for each."""
        line = message.data.decode(errors="replace") if isinstance(message.data, bytes) else message.data
        self._printer.width = self.width
        self._printer.write(message)
        if message.name in self._starting and READY[message.name] in line:
            self._starting.remove(message.name)
            if not self._starting:
                print(self.welcome, flush=True)
        if message.name == SYSTEM_PRINTER_NAME and " stopped (rc=" in line and self.first_exit is None:
            self.first_exit = line.strip()
