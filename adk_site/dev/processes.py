"""Daphne, two Celery workers and the Celery beat, in one terminal."""

import signal
import time
from multiprocessing.connection import wait
from pathlib import Path
from types import TracebackType

from adk_site.dev.address import Address
from adk_site.dev.errors import StackError
from adk_site.dev.fork import Fork
from adk_site.dev.marked_processes import mark_variables
from adk_site.dev.terminal import Terminal

SCHEDULE = "celerybeat-schedule"
STOP_SECONDS = 5.0
TICK_SECONDS = 0.1


class SiteProcesses:
    """The processes of the site. A context manager: they have ended when it is left."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._forks: list[Fork] = []
        self._terminal = Terminal()

    def start_web(self, address: Address) -> None:
        """Start the web process."""
        listen = ["-b", address.host, "-p", str(address.port)]
        self._start("web", "adk_site.web", *listen, "adk_site.asgi:application")

    def start_celery(self) -> None:
        """Start the workers and the beat, which share what this process has loaded."""
        # The beat only keeps its last sending times there, and does not start with a file that a crash damaged.
        for file in self.data.glob(f"{SCHEDULE}*"):
            file.unlink()
        celery = ["celery", "--quiet", "-A", "adk_site"]
        worker = [*celery, "worker", "--without-gossip", "--without-mingle", "-l", "WARNING"]
        # One worker for each queue, so that answers do not wait for jobs, and end with none of them.
        self._start("worker", *worker, "--queues=celery", "--hostname=worker@%h", "--concurrency=1")
        self._start("jobs", *worker, "--queues=jobs", "--hostname=jobs@%h", "--concurrency=2")
        schedule = str(self.data / SCHEDULE)
        self._start("beat", *celery, "beat", "--schedule", schedule, "--pidfile=", "-l", "WARNING")

    def watch(self, welcome: str) -> None:
        """Show the output of all processes, and the welcome as soon as the site answers and works.

        Raises:
            StackError: one of the processes ended.
        """
        self._terminal.expect_ready(welcome)
        while all(fork.exit_code is None for fork in self._forks):
            self._show_output()
        ended = next(fork for fork in self._forks if fork.exit_code is not None)
        self._show_output()
        raise StackError(
            f"{ended.name} stopped (rc={ended.exit_code}): the site needs it, so all was stopped. "
            "Its last lines are above."
        )

    def __enter__(self) -> "SiteProcesses":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for fork in self._forks:
            fork.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        while any(fork.exit_code is None for fork in self._forks) and time.monotonic() < deadline:
            self._show_output()
        for fork in self._forks:
            fork.kill()
        self._show_output()

    def _start(self, name: str, *command: str) -> None:
        fork = Fork(name, command, mark_variables(self.data))
        self._forks.append(fork)
        self._terminal.show("system", f"{name} started (pid={fork.pid})")

    def _show_output(self) -> None:
        """Show the lines that come, and return soon after a process has ended."""
        running = [fork for fork in self._forks if fork.exit_code is None]
        wait([fork.sentinel for fork in running] + [fork.output for fork in running], TICK_SECONDS)
        for fork in self._forks:
            for line in fork.read_lines():
                self._terminal.show(fork.name, line)
