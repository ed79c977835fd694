"""Outages of a site: kill PostgreSQL, Redis, a web process or those of jobs with SIGKILL, and restart them."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from adk_site.embedded.redis import Redis
from tests.forked_program import ForkServer
from tests.free_port import free_port
from tests.stack.stack import Stack
from tests.stack.web_process import wait_until_listening, web_program


def kill_postgres(data: Path) -> None:
    """Kill the embedded PostgreSQL and all its backends."""
    kill_tree(int((data / "postgres" / "postmaster.pid").read_text().split()[0]))


def kill_redis(data: Path) -> None:
    """Kill the embedded Redis."""
    Redis(data).kill()


def kill_tree(pid: int) -> None:
    """Send SIGKILL to the process and all its descendants, and wait until they are gone."""
    try:
        parent = psutil.Process(pid)
        family = [*parent.children(recursive=True), parent]
    except psutil.NoSuchProcess:
        return
    for process in family:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(family, timeout=10)


def kill_jobs(site: Stack) -> None:
    """Kill the processes that run the site's jobs; their parent replaces them."""
    for process in psutil.Process(site.pids["jobs"]).children():
        process.kill()


@contextmanager
def jobs_stopped(site: Stack) -> Iterator[None]:
    """Stop the processes that run the site's jobs: a job that is called in this block waits for its end."""
    processes = psutil.Process(site.pids["jobs"]).children()
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


class Web:
    """Additional web process of a site, on its own port. A context manager: killed on exit."""

    def __init__(self, site: Stack, environment: Mapping[str, str] | None = None) -> None:
        """Take the site and the process's environment variables; by default they are the site's."""
        self.site = site
        self.environment = environment or site.environment
        self.port = free_port()
        self._at_end = ExitStack()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the process; return when it accepts connections."""
        log = self.site.data / "web2.log"
        program = web_program(self.port)
        self.process = self._server.run_with_log(*program, environment=self.environment, log=log)
        wait_until_listening(self.port)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Web:
        # Forks, because importing the site anew takes seconds of CPU time for each start.
        self._server = self._at_end.enter_context(ForkServer(self.environment, "adk_site.urls"))
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._at_end.close()
