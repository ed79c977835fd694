"""What a person sees of the processes in the terminal."""

import sys
from dataclasses import dataclass, field

from honcho.manager import SYSTEM_PRINTER_NAME
from honcho.printer import Message, Printer

ANSWERS = "Listening on TCP address"  # what Daphne logs once it accepts connections


@dataclass
class Terminal:
    """Prints the lines of all processes, and the welcome as soon as the site answers."""

    welcome: str
    width: int = 0
    first_end: str | None = None  # the first process that ended, in the manager's words
    _printer: Printer = field(default_factory=lambda: Printer(sys.stdout))

    def write(self, message: Message) -> None:
        """Called by the manager with each line."""
        line = message.data.decode(errors="replace") if isinstance(message.data, bytes) else message.data
        self._printer.width = self.width
        self._printer.write(message)
        if message.name == "web" and ANSWERS in line:
            print(self.welcome, flush=True)
        if message.name == SYSTEM_PRINTER_NAME and " stopped (rc=" in line and self.first_end is None:
            self.first_end = line.strip()
