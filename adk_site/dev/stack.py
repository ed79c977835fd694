"""Run Daphne, two Celery workers and Celery beat in one terminal."""

import multiprocessing
import os
import shlex
import signal
import sys
from importlib import import_module

from django.conf import settings
from honcho.manager import SIGNALS, Manager

from adk_site.celery import app
from adk_site.dev.address import Address
from adk_site.dev.errors import StackError
from adk_site.dev.forked_program import ForkedProgram
from adk_site.dev.marked_processes import mark_variables
from adk_site.dev.terminal import Terminal

SCHEDULE_FILE = "celerybeat-schedule"


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
