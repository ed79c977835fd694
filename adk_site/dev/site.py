"""The development site in one terminal, with its embedded servers, from start to end."""

import fcntl
import json
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

import django
from django.contrib.auth import get_user_model
from django.core.checks import ERROR, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connections
from django.template.defaultfilters import pluralize

from adk_site.dev.address import Address, StackError, address_from_environment
from adk_site.dev.marked_processes import stop_marked_processes
from adk_site.dev.stack import run_processes
from adk_site.embedded.lifetime import running_servers

PERSON, STAFF = "demo", "admin"
WELCOME = """
  The site is at   {url}
  Sign in as       {person}    password  {person_password}
  Staff            {staff}   password  {staff_password}   at {url}admin/
  Ctrl-C stops everything.
"""


def run_site(data: Path) -> None:
    """Run the site of the data directory until Ctrl-C or SIGTERM; exit with a sentence if it cannot run."""
    # SIGTERM raises KeyboardInterrupt, too, so both stop the site in the same way.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.environ["ADK_DEV"] = "1"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")
    try:
        with _exclusive_lock(data):
            _run(data, address_from_environment())
    except KeyboardInterrupt:
        print("Stopped.")
    except (StackError, ImproperlyConfigured, CommandError) as error:
        sys.exit(f"{error}")


def _run(data: Path, address: Address) -> None:
    if leftovers := stop_marked_processes(data):
        processes = f"{leftovers} process{pluralize(leftovers, 'es')}"
        print(f"Stopped {processes} that an earlier run left behind.", flush=True)
    address.check_is_free()
    print("Starting ...", flush=True)
    with running_servers(data):
        django.setup()
        _check_agents()
        call_command("migrate", verbosity=0)
        # Models can be imported now.
        from adk_site.demo.handbook import ensure_handbook

        passwords = _ensure_accounts(data / "credentials.json")
        ensure_handbook(get_user_model().objects.get(username=PERSON))
        # The processes are forked: a connection must not be shared with them.
        connections.close_all()
        run_processes(address, _welcome(address, passwords))


def _check_agents() -> None:
    """Raise `StackError` with the messages of the agent checks."""
    # Before the start: otherwise four processes would fail for the same reason.
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


def _ensure_accounts(credentials: Path) -> dict[str, str]:
    """Create the demo user and the staff user unless they exist; return their passwords by user name.

    The passwords are random and stored in the `credentials` file, readable only by its owner. Users with a password in
    the file are not changed.
    """
    stored: dict[str, str] = json.loads(credentials.read_text()) if credentials.exists() else {}
    passwords = {name: stored.get(name) or secrets.token_urlsafe(12) for name in (PERSON, STAFF)}
    for name, password in passwords.items():
        rights = {"is_staff": name == STAFF, "is_superuser": name == STAFF}
        user, created = get_user_model().objects.get_or_create(username=name, defaults=rights)
        if created or name not in stored:
            user.set_password(password)
            user.save()
    _write_private_file(credentials, json.dumps(passwords, indent=2) + "\n")
    return passwords


def _write_private_file(path: Path, text: str) -> None:
    with NamedTemporaryFile("w", dir=path.parent, delete=False) as complete:  # created with mode 0600
        complete.write(text)
    # Atomic: a reader never sees a half-written file.
    os.replace(complete.name, path)


@contextmanager
def _exclusive_lock(data: Path) -> Iterator[None]:
    """Hold the data directory's lock.

    Raises:
        StackError: another process holds the lock.
    """
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A record lock (fcntl) is released when this process dies, and forked helpers do not inherit it.
    with (data / "stack.lock").open("a+") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StackError(
                f"A site with the data directory {data} is already running: stop it with `make stop`."
            ) from error
        yield
