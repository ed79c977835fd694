"""A Python program in a fork of this process, which inherits the modules imported here."""

from __future__ import annotations

import os
import runpy
import shlex
import signal
import sys
from collections.abc import Mapping
from typing import NoReturn


class ForkedProgram:
    """Replacement for `subprocess.Popen` in honcho.

    Attributes:
        stdout: output and errors of the program.
        returncode: exit code, or the negative number of the signal that killed the program; None while it runs.
    """

    def __init__(self, command: str, *, env: Mapping[str, str], cwd: str | None = None) -> None:
        """Fork and run the command: the name of a module, as after `python -m`, and its arguments."""
        self.returncode: int | None = None
        readable, writable = os.pipe()
        # A new process would import the whole site again, which takes seconds of CPU time.
        self.pid = os.fork()
        if self.pid == 0:
            os.close(readable)
            _run(shlex.split(command), env, writable)
        os.close(writable)
        self.stdout = os.fdopen(readable, "rb")

    def wait(self) -> int:
        """Wait for the end of the program; return its exit code."""
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def _run(arguments: list[str], env: Mapping[str, str], output: int) -> NoReturn:
    # A session for itself, as with Popen in honcho: honcho signals the process group.
    os.setsid()
    for standard in (sys.stdout, sys.stderr):
        os.dup2(output, standard.fileno())
        standard.reconfigure(write_through=True)  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(env)
    # The fork inherits the handlers of `make run`, which ignore or translate these signals.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.argv = list(arguments)
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    # Never return into the code of the parent. `multiprocessing`, which has called honcho, exits with this exit code.
    sys.exit()
