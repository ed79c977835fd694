"""A fork of this process that runs a Python module as a program, and the pipe that its output comes through."""

import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

CHUNK = 65536

_context = multiprocessing.get_context("fork")


class Fork:
    """A running fork. Modules that this process has loaded are loaded in the fork too."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it; `command` is the module and its arguments, as after `python -m`."""
        self.name = name
        self._rest = b""
        self.output, writer = os.pipe()
        os.set_blocking(self.output, False)
        self._process = _context.Process(target=_run_module, args=(command, environment, writer))
        self._process.start()
        self.pid: int = self._process.pid or 0  # never None once it was started
        os.close(writer)

    @property
    def exit_code(self) -> int | None:
        """None while it runs; the number of a signal that ended it is negative."""
        return self._process.exitcode

    @property
    def sentinel(self) -> int:
        """A file descriptor that becomes readable when the fork has ended."""
        return self._process.sentinel

    def read_lines(self) -> list[str]:
        """Return the lines that have come since the last call, without waiting."""
        with suppress(BlockingIOError):
            while chunk := os.read(self.output, CHUNK):
                self._rest += chunk
        *lines, self._rest = self._rest.split(b"\n")
        return [line.decode(errors="replace") for line in lines]

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it and its children without warning."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def _run_module(command: Sequence[str], environment: Mapping[str, str], output: int) -> None:
    os.setsid()  # Ctrl-C in the terminal reaches the parent only
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.update(environment)
    sys.argv = list(command)
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)
