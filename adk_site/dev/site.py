"""`python -m adk_site.dev.site`: run the whole site; Ctrl-C or SIGTERM stops it, the embedded servers too."""

import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from django.core.checks import ERROR, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connections

from adk_site.dev.accounts import PERSON, STAFF, ensure_accounts
from adk_site.dev.address import Address, address_from_environment
from adk_site.dev.errors import StackError
from adk_site.dev.marked_processes import MARK, stop_marked_processes
from adk_site.dev.processes import SiteProcesses
from adk_site.embedded.lifetime import running_servers
from adk_site.embedded.paths import data_dir

WELCOME = """
  The site is at   {url}
  Sign in as       {person}    password  {person_password}
  Staff            {staff}   password  {staff_password}   at {url}admin/
  Ctrl-C stops everything.
"""


def main() -> None:
    # The embedded servers do not bear the mark: they belong to every process that uses them.
    os.environ.pop(MARK, None)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    data = data_dir()
    try:
        with _only_one(data):
            _run(data, address_from_environment())
    except KeyboardInterrupt:
        print("Stopped.")
    except (StackError, ImproperlyConfigured) as error:
        sys.exit(f"{error}")


def _run(data: Path, address: Address) -> None:
    if leftovers := stop_marked_processes(data):
        print(f"Stopped {leftovers} processes that an earlier run left behind.")
    address.check_is_free()
    print("Starting ...")
    with running_servers(data), SiteProcesses(data) as processes:
        # The web process loads Django at the same time as this one, from which the others are forked.
        processes.start_web(address)
        django.setup()
        _check_agents()
        call_command("migrate", verbosity=0)
        passwords = ensure_accounts(data / "credentials.json")
        connections.close_all()
        processes.start_celery()
        processes.watch(_welcome(address, passwords))


def _check_agents() -> None:
    """Report a broken `agents.py` in its own words, before four processes fail over it."""
    problems = [problem for problem in run_checks(tags=["agents"]) if problem.level >= ERROR]
    if problems:
        raise StackError("\n".join(str(problem) for problem in problems))


def _welcome(address: Address, passwords: dict[str, str]) -> str:
    return WELCOME.format(
        url=address.url,
        person=PERSON,
        person_password=passwords[PERSON],
        staff=STAFF,
        staff_password=passwords[STAFF],
    )


@contextmanager
def _only_one(data: Path) -> Iterator[None]:
    """Hold a record lock, which ends with this process and which its forks do not inherit."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (data / "stack.lock").open("a+") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StackError(f"The site of {data} is running already: stop it with `make stop`.") from error
        yield


if __name__ == "__main__":
    main()
