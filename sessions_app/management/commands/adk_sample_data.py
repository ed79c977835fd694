"""`manage.py adk_sample_data`: fill the database with believable conversations, to try and measure the admin."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction
from django.utils.timezone import now

from sessions_app.history.figures.batches import count_new_sessions

EVENTS_PER_SESSION = 10
SESSIONS_PER_BATCH = 5_000
SESSIONS_PER_PERSON = 20
STATEMENTS = Path(__file__).parent.parent / "sample_data.sql"


class Command(BaseCommand):
    """Write rows by SQL, without the checks of use cases. Only for development databases."""

    help = "Fill the database with believable conversations over four months, and count their figures."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--events", type=int, default=10_000, help="number of events; ten make a session")
        parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same conversations")
        parser.add_argument(
            "--connections", type=int, default=1, help="number of connections that write at once"
        )
        parser.add_argument("--force", action="store_true", help="write outside of development too")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the sessions in batches, each with people of its own."""
        if not (getattr(settings, "DEV", False) or options["force"]):
            raise CommandError("This site is not in development: set ADK_DEV=1, or give --force.")
        sessions = options["events"] // EVENTS_PER_SESSION
        if sessions < 1:
            raise CommandError(f"--events must be at least {EVENTS_PER_SESSION}.")
        # All batches end at one time.
        make = partial(_make_sessions, options["seed"], now(), sessions)
        starts = range(0, sessions, SESSIONS_PER_BATCH)
        for end in _in_threads(options["connections"], make, starts):
            self.stdout.write(f"{end * EVENTS_PER_SESSION} events")
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")  # autovacuum would do it a minute later


def _in_threads(number: int, make: Callable[[int], int], starts: Iterable[int]) -> Iterator[int]:
    """Yield the results of the calls in their order. A single thread is this one, which may be in a transaction."""
    if number == 1:
        yield from map(make, starts)
        return

    def make_and_disconnect(start: int) -> int:
        try:
            return make(start)
        finally:
            connection.close()  # that of the thread, which may end now

    with ThreadPoolExecutor(number) as pool:
        yield from pool.map(make_and_disconnect, starts)


def _make_sessions(seed: int, time: datetime, sessions: int, start: int) -> int:
    """Write a batch of the sessions, from number `start` on, with their figures; return the number of its end."""
    end = min(start + SESSIONS_PER_BATCH, sessions)
    with transaction.atomic(), connection.cursor() as cursor:
        people = _make_people(seed, range(start // SESSIONS_PER_PERSON, -(-end // SESSIONS_PER_PERSON)))
        parameters: dict[str, Any] = {
            "seed": str(seed),
            "time": time,
            "people": people,
            "start": start,
            "end": end,
        }
        for statement in STATEMENTS.read_text().split(";\n"):
            if statement.strip():
                cursor.execute(statement, parameters)
        cursor.execute("SELECT id FROM sample ORDER BY n")
        count_new_sessions([session_id for (session_id,) in cursor.fetchall()])
        cursor.execute("DROP TABLE sample, sample_event")
    return end


def _make_people(seed: int, numbers: Iterable[int]) -> list[int]:
    """Create people who cannot sign in; return their primary keys."""
    User = get_user_model()
    names = [f"sample-{seed}-{n:05d}" for n in numbers]
    rows = [User(**{User.USERNAME_FIELD: name}, password="!") for name in names]  # noqa: S106 (no password)
    User._default_manager.bulk_create(rows, ignore_conflicts=True)
    found = User._default_manager.filter(**{f"{User.USERNAME_FIELD}__in": names})
    return list(found.order_by(User.USERNAME_FIELD).values_list("pk", flat=True))
