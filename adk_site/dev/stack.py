"""Daphne, two Celery workers and the Celery beat, in one terminal."""

import os
import shlex
import signal
import sys

from django.conf import settings
from honcho.manager import SIGNALS, Manager

from adk_site.dev.address import Address
from adk_site.dev.errors import StackError
from adk_site.dev.marked import mark
from adk_site.dev.terminal import Terminal

SCHEDULE = "celerybeat-schedule"


def run_processes(address: Address, welcome: str) -> None:
    """Run the processes until a signal stops them; they have ended when this returns.

    Raises:
        StackError: one of them ended by itself; the others were stopped.
    """
    # The beat only keeps there when it last sent what, and does not start with a file that a crash left half.
    for file in settings.DATA_DIR.glob(f"{SCHEDULE}*"):
        file.unlink()
    terminal = Terminal(welcome)
    manager = Manager(terminal)
    environment = _environment()
    for name, arguments in _commands(address).items():
        command = shlex.join([sys.executable, "-m", *arguments])
        manager.add_process(name, f"exec {command}", env=environment)
    manager.loop()
    # The manager's handlers would speak of processes that are gone while the servers are being stopped.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if manager.returncode not in {known["rc"] for known in SIGNALS.values()}:
        raise StackError(
            f"{terminal.first_end}: the site needs it, so all was stopped. Its last lines are above."
        )


def _commands(address: Address) -> dict[str, list[str]]:
    schedule = str(settings.DATA_DIR / SCHEDULE)
    celery = ["celery", "--quiet", "-A", "adk_site"]
    worker = [*celery, "worker", "--without-gossip", "--without-mingle", "-l", "WARNING"]
    listen = ["-b", address.host, "-p", str(address.port)]
    return {
        "web": ["adk_site.web", *listen, "adk_site.asgi:application"],
        # Apart, so that answers do not wait for jobs, and end with none of them.
        "worker": [*worker, "--queues=celery", "--hostname=worker@%h", "--concurrency=1"],
        "jobs": [*worker, "--queues=jobs", "--hostname=jobs@%h", "--concurrency=2"],
        "beat": [*celery, "beat", "--schedule", schedule, "--pidfile=", "-l", "WARNING"],
    }


def _environment() -> dict[str, str]:
    """What the processes cannot find out by themselves, or should not find out differently."""
    return {
        **os.environ,
        **mark(settings.DATA_DIR),
        "ADK_DATA_DIR": str(settings.DATA_DIR),
        "DATABASE_URL": settings.DATABASE_URL,
        "REDIS_URL": settings.REDIS_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "PYTHONUNBUFFERED": "1",
        # A worker that is told to stop gives its running jobs back to the queue instead of finishing them.
        "REMAP_SIGTERM": "SIGQUIT",
    }
