"""The processes that are killed, and started again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from adk_site.embedded.postgres import Postgres
from adk_site.embedded.redis import Redis
from tests.stack.outages import kill_postgres, kill_redis, kill_tree
from tests.stack.web_process import free_port, wait_until_listening, web_command

WEB = ("web1", "web2")


@dataclass
class Site:
    """Two web processes, two workers, a beat, PostgreSQL and Redis; all may die."""

    data: Path
    database_url: str
    redis_url: str
    ports: dict[str, int] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    kills: dict[str, int] = field(default_factory=dict)

    def start(self) -> None:
        """Start everything but the servers, which run already."""
        self.ports = {name: free_port() for name in WEB}
        for name in (*WEB, "worker1", "worker2", "beat"):
            self._start(name)
        for name in WEB:
            self.wait_for(name)

    def kill_one(self, chance: random.Random) -> str:
        """Kill something without warning, and start it again."""
        target = chance.choice(
            [*WEB, *WEB, "worker1", "worker2", "worker1", "worker2", "beat", "postgres", "redis"]
        )
        self.kills[target] = self.kills.get(target, 0) + 1
        if target == "postgres":
            kill_postgres(self.data)
            Postgres(self.data).start()
        elif target == "redis":
            kill_redis(self.data)
            Redis(self.data).start()
        else:
            self._kill(target)
            self._start(target)
        return target

    def stop(self) -> None:
        """Stop everything but the servers."""
        for name in self.processes:
            self._kill(name)

    def wait_for(self, name: str) -> None:
        """Wait until a web process listens."""
        wait_until_listening(self.ports[name])

    def _start(self, name: str) -> None:
        celery = [sys.executable, "-m", "celery", "--quiet", "-A", "adk_site"]
        if name in WEB:
            command = web_command(self.ports[name])
        elif name == "beat":
            schedule = self.data / "beat-schedule"
            for old in self.data.glob("beat-schedule*"):
                old.unlink()
            command = [*celery, "beat", "--schedule", str(schedule), "--pidfile=", "-l", "ERROR"]
        else:
            alone = ["--without-gossip", "--without-mingle"]
            command = [
                *celery,
                "worker",
                "-n",
                f"{name}@chaos",
                "-Q",
                "celery,jobs",
                "-c",
                "2",
                *alone,
                "-l",
                "ERROR",
            ]
        environment = {
            **os.environ,
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
        }
        log = (self.data / f"{name}.log").open("ab")
        self.processes[name] = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        log.close()

    def _kill(self, name: str) -> None:
        process = self.processes[name]
        kill_tree(process.pid)
        process.wait()
