"""The site's processes and servers, which the chaos test kills and restarts."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from adk_site.embedded.postgres import Postgres, postgres_url
from adk_site.embedded.redis import Redis, redis_url
from tests.chaos.clock import SHIFT, SHIFTS
from tests.forked_program import PROGRAMS_OF_SITE, ForkedProgram, ForkServer
from tests.free_port import free_port
from tests.network import NAMESPACE, Network
from tests.network.servers import url_of_redis
from tests.stack.outages import kill_postgres, kill_tree
from tests.stack.replica import url_of_both, wait_for_replica
from tests.stack.web_process import wait_until_listening, web_program

WEB = ("web1", "web2")
WORKERS = {"worker1": "celery,jobs", "worker2": "celery,jobs", "worker3": "celery"}
"""Queues of the workers. One takes no jobs: jobs that only the sweep ends may fill the others."""
TARGETS = (*WEB, *WEB, *WORKERS, *WORKERS, "beat", "model", "postgres", "redis")
"""Targets of kills; each is killed in proportion to its number of entries."""
FAILOVER = "failover"
"""Target of one kill of a run: PostgreSQL, whose replica takes its place."""
REPLACED = "redis replaced"
"""Target of one kill of a run: Redis, which is empty when it starts again, as another machine at its address is."""
ONCE = (FAILOVER, REPLACED)
SITES = ("site1", "site2")
SITE_OF = {
    "web1": "site1",
    "worker1": "site1",
    "worker3": "site1",
    "web2": "site2",
    "worker2": "site2",
    "beat": "site2",
}
"""The machines of the processes in a run with a network."""


@dataclass(frozen=True)
class Outage:
    """Time in which PostgreSQL did not answer."""

    begins_at: datetime
    ends_at: datetime


@dataclass(frozen=True)
class Servers:
    """The servers of a site.

    Attributes:
        replica: replica of PostgreSQL, which staff read, and which takes its place at the failover.
        network: through which the processes reach the servers; without one they use Unix sockets.
    """

    postgres: Postgres
    replica: Postgres
    redis: Redis
    network: Network | None

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables by which the processes find the servers."""
        if self.network is None:
            return {
                "DATABASE_URL": url_of_both(self.postgres.data, self.replica.data),
                "DATABASE_REPLICA_URL": postgres_url(self.replica.data),
                "REDIS_URL": redis_url(self.redis.data),
            }
        hosts = f"{self.network.primary},{self.network.replica}"
        return {
            "DATABASE_URL": f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs=read-write",
            "DATABASE_REPLICA_URL": f"postgresql://postgres@{self.network.replica}/postgres",
            "REDIS_URL": url_of_redis(self.network),
        }


@dataclass
class Site:
    """Two web processes, three workers, a beat and a model server. Their clocks differ.

    With a network they run at two sites, and a killed machine does not say so: what is sent to it is lost.

    Attributes:
        data: directory for the logs of the processes.
    """

    data: Path
    servers: Servers
    ports: dict[str, int] = field(default_factory=lambda: {name: free_port() for name in WEB})
    model_port: int = field(default_factory=free_port)
    processes: dict[str, ForkedProgram] = field(default_factory=dict)
    kills: dict[str, int] = field(default_factory=dict)
    outages: list[Outage] = field(default_factory=list)
    _server: ForkServer = field(init=False)
    _has_failed_over: bool = False
    _at_end: ExitStack = field(default_factory=ExitStack)

    @property
    def addresses(self) -> list[str]:
        """Host and port of each web process."""
        return [f"{self._host(name)}:{port}" for name, port in self.ports.items()]

    def start(self) -> None:
        """Start all processes; PostgreSQL and Redis run already."""
        self._server = self._at_end.enter_context(ForkServer(self._environment, *PROGRAMS_OF_SITE))
        for name in ("model", *WEB, *WORKERS, "beat"):
            self._start(name)
        wait_until_listening(self.model_port, self._model_host)
        for name in WEB:
            self.wait_for(name)

    def kill(self, target: str) -> None:
        """Kill a process or server with SIGKILL, and restart it or promote its replica."""
        self.kills[target] = self.kills.get(target, 0) + 1
        if target in ("postgres", FAILOVER):
            killed_at = self._kill_postgres(is_failover=target == FAILOVER)
            self.outages.append(Outage(killed_at, datetime.now(UTC)))
        elif target == "redis":
            self.servers.redis.kill()
            self.servers.redis.start()
        elif target == REPLACED:
            self._replace_redis()
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
        wait_until_listening(self.ports[name], self._host(name))

    def _host(self, name: str) -> str:
        """Return the address of the machine of a process."""
        if self.servers.network is None:
            return "127.0.0.1"
        return self.servers.network.sites[SITE_OF[name]]

    @property
    def _model_host(self) -> str:
        return self.servers.network.people if self.servers.network else "127.0.0.1"

    @property
    def _environment(self) -> dict[str, str]:
        """Environment variables of all processes."""
        return {
            **os.environ,
            **self.servers.variables,
            "ALLOWED_HOSTS": ",".join({self._host(name) for name in WEB}),
            "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
            "GOOGLE_API_KEY": "test",
            "GOOGLE_GEMINI_BASE_URL": f"http://{self._model_host}:{self.model_port}",
        }

    def _start(self, name: str) -> None:
        environment = {**self._environment, SHIFT: str(SHIFTS.get(name, 0))}
        if self.servers.network and name in SITE_OF:
            environment[NAMESPACE] = self.servers.network.namespace(SITE_OF[name])
        self.processes[name] = self._server.run_with_log(
            *self._program(name), environment=environment, log=self.data / f"{name}.log"
        )

    def _program(self, name: str) -> list[str]:
        if name in WEB:
            return web_program(self.ports[name], host=self._host(name))
        if name == "model":
            return ["tests.chaos.model", self._model_host, str(self.model_port)]
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

    def _replace_redis(self) -> None:
        """Kill Redis, and start an empty one."""
        redis, network = self.servers.redis, self.servers.network
        if network:
            network.cut_off(network.redis)
        redis.kill()
        shutil.rmtree(redis.data / "redis")
        redis.start()
        if network:
            network.connect(network.redis)

    def _kill_postgres(self, *, is_failover: bool) -> datetime:
        """Kill PostgreSQL, wait until it accepts writes again, and return the time of the kill."""
        server = self.servers.replica if self._has_failed_over else self.servers.postgres
        if is_failover:
            wait_for_replica(server.data)
        killed_at = datetime.now(UTC)
        if is_failover and self.servers.network:
            self.servers.network.cut_off(self.servers.network.primary)
        kill_postgres(server.data)
        if not is_failover:
            server.start()
            return killed_at
        self._has_failed_over = True
        with psycopg.connect(postgres_url(self.servers.replica.data), autocommit=True) as connection:
            # Without waiting: what is still to be replayed may cancel a statement that waits.
            connection.execute("SELECT pg_promote(wait => false)")
        while not self._accepts_writes():
            time.sleep(0.05)
        return killed_at

    def _accepts_writes(self) -> bool:
        try:
            psycopg.connect(self.servers.variables["DATABASE_URL"]).close()
        except psycopg.OperationalError:
            return False
        return True

    def _kill(self, name: str) -> None:
        process = self.processes[name]
        kill_tree(process.pid)
        process.wait()
