"""Run Daphne, two Celery workers and Celery beat in one terminal, with honcho.

On Linux each is a fork of this process, which has imported the site: a new process would take seconds of CPU time.
"""

import multiprocessing
import os
import runpy
import shlex
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import NoReturn

from django.conf import settings
from honcho.manager import SIGNALS, SYSTEM_PRINTER_NAME, Manager
from honcho.printer import Message, Printer

from adk_site.celery import app
from adk_site.dev.address import Address, StackError
from adk_site.dev.marked_processes import mark_variables

SCHEDULE_FILE = "celerybeat-schedule"

READY = {"web": "Listening on TCP address", "worker": " ready.", "jobs": " ready."}
"""Text logged by Daphne or Celery once it accepts connections or tasks, by process name."""


def run_processes(address: Address, welcome: str) -> None:
    """Run the processes until a signal arrives; return when all of them have ended.

    Raises:
        StackError: a process ended without a signal; the others were stopped.
    """
    # Beat stores only its last send times in this file, and does not start if a crash has truncated it.
    for file in settings.DATA_DIR.glob(f"{SCHEDULE_FILE}*"):
        file.unlink()
    terminal = Terminal(welcome)
    manager = Manager(terminal)
    forks = sys.platform == "linux"  # The system libraries of macOS do not survive a fork.
    if forks:
        _import_for_all()
    environment = _environment()
    for name, arguments in _commands(address).items():
        command = shlex.join(arguments)
        if forks:
            manager.add_process(name, command, env=environment)._child_ctor = ForkedProgram
        else:
            manager.add_process(name, f"exec {shlex.quote(sys.executable)} -m {command}", env=environment)
    manager.loop()
    # The manager's handlers would signal processes that have already ended, while the embedded servers stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if manager.returncode not in {handled["rc"] for handled in SIGNALS.values()}:
        raise StackError(
            f"{terminal.first_exit}: the site needs this process, so all processes were stopped. "
            "The last lines of its output are above."
        )


def _import_for_all() -> None:
    """Import the largest modules of the programs once, here: each program is a fork of this process."""
    for name in ("celery.apps.beat", "celery.apps.worker", "celery.bin.celery"):
        import_module(name)
    app.loader.import_default_modules()
    multiprocessing.set_start_method("fork", force=True)  # no longer the default of Python 3.14


def _commands(address: Address) -> dict[str, list[str]]:
    schedule = str(settings.DATA_DIR / SCHEDULE_FILE)
    celery = ["celery", "--quiet", "-A", "adk_site"]
    worker = [*celery, "worker", "--without-gossip", "--without-mingle", "-l", "WARNING"]
    listen = ["-b", address.host, "-p", str(address.port)]
    return {
        "web": ["adk_site.web", *listen, "adk_site.asgi:application"],
        # Separate workers: invocations do not wait for long jobs, and a job that kills its worker ends no invocation.
        "worker": [*worker, "--queues=celery", "--hostname=worker@%h", "--concurrency=1"],
        "jobs": [*worker, "--queues=jobs", "--hostname=jobs@%h", "--concurrency=2"],
        "beat": [*celery, "beat", "--schedule", schedule, "--pidfile=", "-l", "WARNING"],
    }


def _environment() -> dict[str, str]:
    # With the values of this process: settings that read the environment again could choose other servers or keys.
    return {
        **os.environ,
        **mark_variables(settings.DATA_DIR),
        "ADK_DATA_DIR": str(settings.DATA_DIR),
        "DATABASE_URL": settings.DATABASE_URL,
        "REDIS_URL": settings.REDIS_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "PYTHONUNBUFFERED": "1",
    }


class ForkedProgram:
    """Replacement for `subprocess.Popen` in honcho.

    Attributes:
        stdout: output and errors of the program.
        returncode: exit code, or the negative number of the signal that killed the program; None while it runs.
    """

    def __init__(self, command: str, *, env: Mapping[str, str], cwd: str | None = None) -> None:
        """Fork and run the command: the name of a module, as after `python -m`, and its arguments."""
        self.returncode: int | None = None
        readable, writable = os.pipe()
        # A new process would import the whole site again, which takes seconds of CPU time.
        self.pid = os.fork()
        if self.pid == 0:
            os.close(readable)
            _run(shlex.split(command), env, writable)
        os.close(writable)
        self.stdout = os.fdopen(readable, "rb")

    def wait(self) -> int:
        """Wait for the end of the program; return its exit code."""
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def _run(arguments: list[str], env: Mapping[str, str], output: int) -> NoReturn:
    # A session for itself, as with Popen in honcho: honcho signals the process group.
    os.setsid()
    for standard in (sys.stdout, sys.stderr):
        os.dup2(output, standard.fileno())
        standard.reconfigure(write_through=True)  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(env)
    # The fork inherits the handlers of `make run`, which ignore or translate these signals.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.argv = list(arguments)
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    # Never return into the code of the parent. `multiprocessing`, which has called honcho, exits with this exit code.
    sys.exit()


@dataclass
class Terminal:
    """Honcho printer for the lines of all processes, and for the welcome once all of them are ready.

    Attributes:
        welcome: text to print when the site is ready.
        width: width of the column with the process name; set by honcho.
        first_exit: honcho's line about the first process that ended; None while all processes run.
    """

    welcome: str
    width: int = 0
    first_exit: str | None = None
    _starting: set[str] = field(default_factory=lambda: set(READY))
    _printer: Printer = field(default_factory=lambda: Printer(sys.stdout))

    def write(self, message: Message) -> None:
        """Print a line; honcho's manager calls this for each line."""
        line = message.data.decode(errors="replace") if isinstance(message.data, bytes) else message.data
        self._printer.width = self.width
        self._printer.write(message)
        if message.name in self._starting and READY[message.name] in line:
            self._starting.remove(message.name)
            if not self._starting:
                print(self.welcome, flush=True)
        # The first process that ends is the cause; honcho then stops the others.
        if message.name == SYSTEM_PRINTER_NAME and " stopped (rc=" in line and self.first_exit is None:
            self.first_exit = line.strip()
