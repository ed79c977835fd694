"""The site as `deploy/` runs it: web processes, workers for each queue and a beat, on one PostgreSQL and Redis.

Importing the site takes three seconds of CPU time. Where a test starts many processes, they are forks of one that has
imported it: `deploy/run` then finds a `python` and a `celery` that tell how they were called.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import httpx
import psycopg
from django.contrib.auth.hashers import make_password

from adk_site.embedded.lifetime import running_servers
from adk_site.embedded.paths import CHECKOUT
from adk_site.embedded.postgres import postgres_url
from adk_site.embedded.redis import redis_url
from tests.forked_program import PROGRAMS_OF_SITE, ForkedProgram, ForkServer
from tests.free_port import free_port
from tests.stack.stack import OWN_VARIABLES
from tests.stack.web_process import START_SECONDS

RUN = "deploy/run"
PASSWORD = "correct horse"
MAKE_ACCOUNT = """
    INSERT INTO auth_user
    (username, password, first_name, last_name, email, is_superuser, is_staff, is_active, date_joined)
    VALUES ('demo', %s, '', '', '', false, false, true, now())
"""
TELL_CALL = """#!/bin/sh
printf '%s\\0' "${0##*/}" "$@"
printf '\\0'
env -0
"""
"""Program that writes its name, its arguments and its environment, and does nothing else."""
READY = {"web": "Listening on TCP address", "worker": " ready.", "jobs": " ready.", "beat": "is starting"}


class Fleet:
    """Processes named by their kind and a number: `web1`, `web2`, `worker1` …

    A context manager: starts the servers on entry; kills the processes and stops the servers on exit.

    Attributes:
        environment: environment variables of all processes.
        variables: environment variables of the processes of a kind, by the kind.
        checkout: directory with the version of the site that starts.
    """

    def __init__(
        self, data: Path, environment: Mapping[str, str], checkout: Path = CHECKOUT, *, forked: bool = False
    ) -> None:
        """Take the data directory and additional environment variables of the processes.

        Args:
            forked: True to start each process as a fork. All processes of a kind then have the same settings.
        """
        self.data = data
        self.checkout = checkout
        self.ports: dict[str, int] = {}
        inherited = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
        self.environment = {
            **inherited,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "ADK_DEV": "1",
            "ADK_DATA_DIR": str(data),
            "DATABASE_URL": postgres_url(data),
            "REDIS_URL": redis_url(data),
            "BIND": "127.0.0.1",
            "BEAT_SCHEDULE": str(data / "beat"),
            "CONCURRENCY": "1",
            "PYTHONWARNINGS": "ignore",  # Celery warns when tests run as root
            **environment,
        }
        self.variables: dict[str, Mapping[str, str]] = {}
        self._forked = forked
        self._fork_servers: dict[frozenset[tuple[str, str]], ForkServer] = {}
        self._processes: dict[str, subprocess.Popen[bytes] | ForkedProgram] = {}
        self._servers = ExitStack()

    def start(self, *names: str) -> None:
        """Start the named processes; return when they are ready."""
        for name in names:
            kind = name.rstrip("0123456789")
            port = self.ports.setdefault(name, free_port()) if kind == "web" else 0
            own = {"PGAPPNAME": name, "PORT": str(port)}
            self._processes[name] = self._begin([kind], kind, own, self.data / f"{name}.log")
        for name in names:
            self._wait_for(name, READY[name.rstrip("0123456789")])

    def kill(self, name: str) -> None:
        """Kill a process and its children with SIGKILL."""
        os.killpg(self._processes[name].pid, signal.SIGKILL)
        self._processes.pop(name).wait()

    def stop(self, name: str) -> int:
        """Stop a process with SIGTERM, as a container runtime does; return its exit code."""
        process = self._processes.pop(name)
        process.send_signal(signal.SIGTERM)
        return process.wait(START_SECONDS)

    def run(self, *command: str) -> str:
        """Run a command of `deploy/run` with the variables of a worker; return its output."""
        output = self.data / "output"
        code = self._begin(command, "worker", {}, output).wait()
        assert code == 0, output.read_text()
        return output.read_text()

    def log(self, name: str) -> str:
        """Return the output of a process."""
        return (self.data / f"{name}.log").read_text(errors="replace")

    def url(self, web: str) -> str:
        """Return the URL of a web process."""
        return f"http://127.0.0.1:{self.ports[web]}"

    def new_chat(self, web: str) -> tuple[str, str]:
        """Sign in and start a chat; return the session id and the cookies, which all web processes accept."""
        with httpx.Client(base_url=self.url(web), follow_redirects=True) as client:
            client.get("/accounts/login/")
            form = {"username": "demo", "password": PASSWORD}
            client.post("/accounts/login/", data={**form, "csrfmiddlewaretoken": client.cookies["csrftoken"]})
            page = client.get("/chat/new/help_desk/")
            cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
            return page.url.path.split("/")[2], cookies

    def __enter__(self) -> Fleet:
        self._servers.enter_context(running_servers(self.data))
        self.run("migrate")
        with psycopg.connect(postgres_url(self.data)) as connection:
            connection.execute(MAKE_ACCOUNT, [make_password(PASSWORD)])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._processes):
            self.kill(name)
        self._servers.close()

    def _environment_of(self, kind: str) -> dict[str, str]:
        return {**self.environment, **self.variables.get(kind, {})}

    def _begin(
        self, command: Sequence[str], kind: str, own: Mapping[str, str], log: Path
    ) -> subprocess.Popen[bytes] | ForkedProgram:
        """Begin a command of `deploy/run`, with the variables of a kind of process and its own."""
        settings = self._environment_of(kind)
        environment = {**settings, **own}
        log.write_bytes(b"")
        if self._forked:
            arguments, told = self._call(command, environment)
            return self._fork_server(settings, told).run_with_log(*arguments, environment=told, log=log)
        with log.open("ab") as output:
            return subprocess.Popen(
                [self.checkout / RUN, *command],
                cwd=self.checkout,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _fork_server(self, settings: Mapping[str, str], environment: Mapping[str, str]) -> ForkServer:
        """Return the process that has imported the site with these settings; it is started for the first program."""
        key = frozenset(settings.items())
        if key not in self._fork_servers:
            server = ForkServer(environment, *PROGRAMS_OF_SITE)
            self._fork_servers[key] = self._servers.enter_context(server)
        return self._fork_servers[key]

    def _call(
        self, command: Sequence[str], environment: Mapping[str, str]
    ) -> tuple[list[str], dict[str, str]]:
        """Return the module that `deploy/run` runs for the command, with its arguments, and its environment."""
        programs = self.data / "programs"
        programs.mkdir(exist_ok=True)
        for name in ("python", "celery"):
            (programs / name).write_text(TELL_CALL)
            (programs / name).chmod(0o700)
        path = environment["PATH"]
        told = subprocess.run(
            [self.checkout / RUN, *command],
            cwd=self.checkout,
            env={**environment, "PATH": f"{programs}{os.pathsep}{path}"},
            capture_output=True,
            text=True,
            check=True,
        )
        call, _, lines = told.stdout.partition("\0\0")
        words = call.split("\0")
        variables = dict(line.split("=", 1) for line in lines.split("\0") if line)
        if words[0] == "python":  # `python -m` and a module, or `python manage.py`
            words = words[2:] if words[1] == "-m" else ["manage", *words[2:]]
        return words, {**variables, "PATH": path}

    def _wait_for(self, name: str, text: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while text not in self.log(name):
            assert self._processes[name].poll() is None, f"{name} exited:\n{self.log(name)}"
            assert time.monotonic() < deadline, f"{name} is not ready:\n{self.log(name)}"
            time.sleep(0.05)
