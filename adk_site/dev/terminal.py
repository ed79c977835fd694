"""Terminal output of `make run`."""

import sys
from dataclasses import dataclass, field

from honcho.manager import SYSTEM_PRINTER_NAME
from honcho.printer import Message, Printer

READY = {"web": "Listening on TCP address", "worker": " ready.", "jobs": " ready."}
"""Text logged by Daphne or Celery once it accepts connections or tasks, by process name."""


@dataclass
class Terminal:
    """Honcho printer for the lines of all processes, and for the welcome once all of them are ready.

    Attributes:
        welcome: text to print when the site is ready.
        width: width of the column with the process name; set by honcho.
        first_exit: honcho's line about the first process that ended; None while all processes run.
    """

    welcome: str
    width: int = 0
    first_exit: str | None = None
    _starting: set[str] = field(default_factory=lambda: set(READY))
    _printer: Printer = field(default_factory=lambda: Printer(sys.stdout))

    def write(self, message: Message) -> None:
        """Print a line; honcho's manager calls this for each line."""
        line = message.data.decode(errors="replace") if isinstance(message.data, bytes) else message.data
        self._printer.width = self.width
        self._printer.write(message)
        if message.name in self._starting and READY[message.name] in line:
            self._starting.remove(message.name)
            if not self._starting:
                print(self.welcome, flush=True)
        # The first process that ends is the cause; honcho then stops the others.
        if message.name == SYSTEM_PRINTER_NAME and " stopped (rc=" in line and self.first_exit is None:
            self.first_exit = line.strip()
