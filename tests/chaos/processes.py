"""The site's processes and servers, which the chaos test kills and restarts."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from adk_site.embedded.postgres import Postgres, postgres_url
from adk_site.embedded.redis import Redis
from tests.chaos.clock import SHIFT, SHIFTS
from tests.forked_program import PROGRAMS_OF_SITE, ForkedProgram, ForkServer
from tests.free_port import free_port
from tests.stack.outages import kill_postgres, kill_redis, kill_tree
from tests.stack.replica import wait_for_replica
from tests.stack.web_process import wait_until_listening, web_program

WEB = ("web1", "web2")
WORKERS = {"worker1": "celery,jobs", "worker2": "celery,jobs", "worker3": "celery"}
"""Queues of the workers. One takes no jobs: jobs that only the sweep ends may fill the others."""
TARGETS = (*WEB, *WEB, *WORKERS, *WORKERS, "beat", "model", "postgres", "redis")
"""Targets of kills; each is killed in proportion to its number of entries."""
FAILOVER = "failover"
"""Target of one kill of a run: PostgreSQL, whose replica takes its place."""


@dataclass(frozen=True)
class Outage:
    """Time in which PostgreSQL did not answer."""

    begins_at: datetime
    ends_at: datetime


@dataclass
class Site:
    """Two web processes, three workers, a beat and a model server, on one PostgreSQL and Redis. Their clocks differ.

    Attributes:
        data: directory of the site's servers.
        replica: directory of the replica of PostgreSQL, which staff read, and which takes its place at the failover.
        database_url: leads to that one of both that accepts writes.
    """

    data: Path
    replica: Path
    database_url: str
    redis_url: str
    ports: dict[str, int] = field(default_factory=lambda: {name: free_port() for name in WEB})
    model_port: int = field(default_factory=free_port)
    processes: dict[str, ForkedProgram] = field(default_factory=dict)
    kills: dict[str, int] = field(default_factory=dict)
    outages: list[Outage] = field(default_factory=list)
    _server: ForkServer = field(init=False)
    _has_failed_over: bool = False
    _at_end: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        """Start all processes; PostgreSQL and Redis run already."""
        self._server = self._at_end.enter_context(ForkServer(self._environment, *PROGRAMS_OF_SITE))
        for name in ("model", *WEB, *WORKERS, "beat"):
            self._start(name)
        wait_until_listening(self.model_port)
        for name in WEB:
            self.wait_for(name)

    def kill(self, target: str) -> None:
        """Kill a process or server with SIGKILL, and restart it or promote its replica."""
        self.kills[target] = self.kills.get(target, 0) + 1
        if target in ("postgres", FAILOVER):
            killed_at = self._kill_postgres(is_failover=target == FAILOVER)
            self.outages.append(Outage(killed_at, datetime.now(UTC)))
        elif target == "redis":
            kill_redis(self.data)
            Redis(self.data).start()
        else:
            self._kill(target)
            self._start(target)

    def stop(self) -> None:
        """Stop all processes but PostgreSQL and Redis."""
        for name in self.processes:
            self._kill(name)
        self._at_end.close()

    def wait_for(self, name: str) -> None:
        """Wait until a web process listens."""
        wait_until_listening(self.ports[name])

    @property
    def _environment(self) -> dict[str, str]:
        """Environment variables of all processes."""
        return {
            **os.environ,
            "DATABASE_URL": self.database_url,
            "DATABASE_REPLICA_URL": postgres_url(self.replica),
            "REDIS_URL": self.redis_url,
            "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
            "GOOGLE_API_KEY": "test",
            "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{self.model_port}",
        }

    def _start(self, name: str) -> None:
        environment = {**self._environment, SHIFT: str(SHIFTS.get(name, 0))}
        self.processes[name] = self._server.run_with_log(
            *self._program(name), environment=environment, log=self.data / f"{name}.log"
        )

    def _program(self, name: str) -> list[str]:
        if name in WEB:
            return web_program(self.ports[name])
        if name == "model":
            return ["tests.chaos.model", str(self.model_port)]
        celery = ["celery", "--quiet", "-A", "adk_site"]
        if name == "beat":
            for file in self.data.glob("beat-schedule*"):
                file.unlink()  # beat does not start with a file that a crash truncated
            schedule = str(self.data / "beat-schedule")
            return [*celery, "beat", "--schedule", schedule, "--pidfile=", "-l", "ERROR"]
        options = [
            "-n",
            f"{name}@chaos",
            "-Q",
            WORKERS[name],
            "-c",
            "2",
            "--without-gossip",
            "--without-mingle",
        ]
        return [*celery, "worker", *options, "-l", "ERROR"]

    def _kill_postgres(self, *, is_failover: bool) -> datetime:
        """Kill PostgreSQL, wait until it accepts writes again, and return the time of the kill."""
        data = self.replica if self._has_failed_over else self.data
        if is_failover:
            wait_for_replica(data)
        killed_at = datetime.now(UTC)
        kill_postgres(data)
        if not is_failover:
            Postgres(data).start()
            return killed_at
        self._has_failed_over = True
        with psycopg.connect(postgres_url(self.replica), autocommit=True) as connection:
            # Without waiting: what is still to be replayed may cancel a statement that waits.
            connection.execute("SELECT pg_promote(wait => false)")
        while not self._accepts_writes():
            time.sleep(0.05)
        return killed_at

    def _accepts_writes(self) -> bool:
        try:
            psycopg.connect(self.database_url).close()
        except psycopg.OperationalError:
            return False
        return True

    def _kill(self, name: str) -> None:
        process = self.processes[name]
        kill_tree(process.pid)
        process.wait()
