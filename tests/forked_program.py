"""A command of `manage.py` in a fork of a process that has imported the site."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType

from adk_site.embedded.paths import CHECKOUT


class ForkedCommand:
    """A running command, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, answer: socket.socket) -> None:
        self._answer = answer.makefile("r")
        self.pid = int(self._answer.readline())
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def poll(self) -> int | None:
        """Return the exit code, or None while the command runs."""
        if self.returncode is None and select.select([self._answer], [], [], 0)[0]:
            return self.wait(0)
        return self.returncode

    def wait(self, seconds: float) -> int:
        """Wait for the end; return the exit code.

        Raises:
            TimeoutError: the command goes on after so many seconds.
        """
        if self.returncode is None:
            if not select.select([self._answer], [], [], seconds)[0]:
                raise TimeoutError(f"The command {self.pid} goes on after {seconds} s.")
            self.returncode = int(self._answer.readline())
            self._answer.close()
        return self.returncode

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The process that has imported the site. A context manager: starts on entry, stops on exit."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Take the environment in which the site is imported. The environment of a command does not change settings."""
        self._environment = environment

    def run(
        self, *arguments: str, environment: Mapping[str, str], files: tuple[int, int, int], terminal: bool
    ) -> ForkedCommand:
        """Start a command with these files as input, output and errors, or with one terminal as all of them."""
        ours, theirs = socket.socketpair()
        request = {"arguments": arguments, "environment": {**environment}, "terminal": terminal}
        with ours, theirs:
            socket.send_fds(self._requests, [json.dumps(request).encode()], [*files, theirs.fileno()])
            theirs.close()
            return ForkedCommand(ours)

    def __enter__(self) -> ForkServer:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", "tests.integration.management.fork_server", str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, cwd=CHECKOUT, env=self._environment, pass_fds=[theirs.fileno()]
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._requests.close()
        self._process.wait()
