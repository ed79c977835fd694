"""A program in a fork of a process that has imported the site, or the packages that the site needs."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from adk_site.embedded.paths import CHECKOUT

LISTENER = "TESTS_FORK_LISTENER"
"""Environment variable of a fork server with the number of a listening socket."""
SHARED = "TESTS_SHARED_PACKAGES"
"""Environment variable with the address of a process that has imported the packages of the site."""

PROGRAMS_OF_SITE = ("adk_site.urls", "celery.apps.beat", "celery.apps.worker", "celery.bin.celery")
"""Largest modules of the site's processes: a fork server imports them for its programs."""


class ForkedProgram:
    """A running program, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, answer: socket.socket) -> None:
        self._answer = answer.makefile("r")
        self.pid = int(self._answer.readline())
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the program has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # It has ended since.
                os.kill(self.pid, number)

    def poll(self) -> int | None:
        """Return the exit code, or None while the program runs."""
        if self.returncode is None and select.select([self._answer], [], [], 0)[0]:
            return self.wait(0)
        return self.returncode

    def wait(self, seconds: float | None = None) -> int:
        """Wait for the end, by default without limit; return the exit code.

        Raises:
            TimeoutError: the program goes on after so many seconds.
        """
        if self.returncode is None:
            if not select.select([self._answer], [], [], seconds)[0]:
                raise TimeoutError(f"The program {self.pid} goes on after {seconds} s.")
            self.returncode = int(self._answer.readline())
            self._answer.read()  # to its end: that of the process which has waited for the program
            self._answer.close()
        return self.returncode

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Forks:
    """A process that runs programs in forks of itself, and ends when this object closes its socket."""

    def __init__(self) -> None:
        self._requests, self._served = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def run(
        self,
        *arguments: str,
        environment: Mapping[str, str],
        files: tuple[int, int, int],
        terminal: bool = False,
    ) -> ForkedProgram:
        """Start a program: the name of a module, as after `python -m`, and its arguments.

        Args:
            files: its input, output and errors.
            terminal: True if the files are a terminal, which it then controls.
        """
        ours, theirs = socket.socketpair()
        request = {"arguments": arguments, "environment": {**environment}, "terminal": terminal}
        with ours, theirs:
            socket.send_fds(self._requests, [json.dumps(request).encode()], [*files, theirs.fileno()])
            theirs.close()
            return ForkedProgram(ours)

    def run_with_log(self, *arguments: str, environment: Mapping[str, str], log: Path) -> ForkedProgram:
        """Start a program without input, whose output and errors are appended to a file."""
        with open(os.devnull) as nothing, log.open("ab") as output:
            files = (nothing.fileno(), output.fileno(), output.fileno())
            return self.run(*arguments, environment=environment, files=files)


class ForkServer(Forks):
    """The process that has imported the site. A context manager: starts on entry, stops on exit."""

    def __init__(self, environment: Mapping[str, str], *modules: str) -> None:
        """Take the environment in which the site is imported, and what its programs import besides.

        The environment of a program does not change settings.
        """
        super().__init__()
        self._environment = environment
        self._modules = modules

    def __enter__(self) -> ForkServer:
        with self._served:
            files = (self._served.fileno(), 1, 2)
            self._process = packages().run(
                "tests.fork_server", *self._modules, environment=self._environment, files=files
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._requests.close()
        self._process.wait()


class _Packages(Forks):
    def __init__(self) -> None:
        super().__init__()
        with self._served:
            self._process = _start_server(self._served)
        atexit.register(self.stop)

    def stop(self) -> None:
        self._requests.close()
        self._process.wait()


class _SharedPackages(Forks):
    def __init__(self, address: str) -> None:
        self._requests = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests.connect(address)
        atexit.register(self._requests.close)


@cache
def packages() -> Forks:
    """Return the process that has imported the packages of the site and no setting, for programs with any settings.

    It serves this process until its end.
    """
    return _SharedPackages(os.environ[SHARED]) if SHARED in os.environ else _Packages()


@contextmanager
def shared_packages() -> Iterator[None]:
    """Let all processes that are started in this block share a process of `packages`.

    It starts when one of them asks for it: many runs of tests need none.
    """
    started: list[subprocess.Popen[bytes]] = []
    owner, served = socket.socketpair()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with TemporaryDirectory() as folder, owner, served, listener:
        listener.bind(f"{folder}/forks")
        listener.listen()
        os.environ[SHARED] = f"{folder}/forks"

        def start_when_asked() -> None:
            if listener in select.select([listener, served], [], [])[0]:
                started.append(_start_server(served, listener))

        thread = threading.Thread(target=start_when_asked)
        thread.start()
        yield
        owner.close()
        thread.join()
        for process in started:
            process.wait()


def _start_server(served: socket.socket, listener: socket.socket | None = None) -> subprocess.Popen[bytes]:
    inherited = {LISTENER: listener.fileno()} if listener else {}
    # In a session for itself: Ctrl-C must not end what waits for the programs.
    return subprocess.Popen(
        [sys.executable, "-m", "tests.fork_server"],
        cwd=CHECKOUT,
        env={**os.environ, **{name: str(number) for name, number in inherited.items()}},
        stdin=served.fileno(),
        pass_fds=[*inherited.values()],
        start_new_session=True,
    )
