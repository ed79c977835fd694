"""The processes that are killed, and started again."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from adk_site.embedded.postgres import Postgres
from adk_site.embedded.redis import Redis

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
        self.ports = {name: _free_port() for name in WEB}
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
            _kill_tree(int((self.data / "postgres" / "postmaster.pid").read_text().split()[0]))
            Postgres(self.data).start()
        elif target == "redis":
            for process in psutil.process_iter(["name", "cmdline"]):
                if process.info["name"] == "redis-server" and str(self.data) in " ".join(
                    process.info["cmdline"] or ()  # None: it has just ended
                ):
                    process.kill()
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
        for _ in range(600):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", self.ports[name])) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"{name} does not answer.")

    def _start(self, name: str) -> None:
        celery = ["celery", "--quiet", "-A", "adk_site"]
        if name in WEB:
            command = ["daphne", "-v", "0", "-p", str(self.ports[name]), "adk_site.asgi:application"]
        elif name == "beat":
            schedule = self.data / "beat-schedule"
            for old in self.data.glob("beat-schedule*"):
                old.unlink()
            command = [*celery, "beat", "--schedule", str(schedule), "--pidfile=", "-l", "ERROR"]
        else:
            command = [
                *celery,
                "worker",
                "-n",
                f"{name}@chaos",
                "-Q",
                "celery,jobs",
                "-c",
                "2",
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
            [sys.executable, "-m", *command], env=environment, stdout=log, stderr=log, start_new_session=True
        )
        log.close()

    def _kill(self, name: str) -> None:
        process = self.processes[name]
        _kill_tree(process.pid)
        process.wait()


def _kill_tree(pid: int) -> None:
    """SIGKILL for the process and its children, at once."""
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


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
