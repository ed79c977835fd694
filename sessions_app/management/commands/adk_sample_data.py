"""`manage.py adk_sample_data`: fill the database with believable conversations, to try and measure the admin."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction

from sessions_app.history.figures.batches import recount_all_sessions

EVENTS_PER_SESSION = 10
SESSIONS_PER_BATCH = 5_000
SESSIONS_PER_PERSON = 20
STATEMENTS = Path(__file__).parent.parent / "sample_data.sql"


class Command(BaseCommand):
    """Write rows by SQL, without the checks of use cases. Only for development databases."""

    help = "Fill the database with believable conversations over four months."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--events", type=int, default=10_000, help="number of events; ten make a session")
        parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same conversations")
        parser.add_argument("--force", action="store_true", help="write outside of development too")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the people, then the sessions in batches."""
        if not (getattr(settings, "DEV", False) or options["force"]):
            raise CommandError("This site is not in development: set ADK_DEV=1, or give --force.")
        sessions = options["events"] // EVENTS_PER_SESSION
        if sessions < 1:
            raise CommandError(f"--events must be at least {EVENTS_PER_SESSION}.")
        seed = options["seed"]
        people = _make_people(max(1, sessions // SESSIONS_PER_PERSON), seed)
        statements = STATEMENTS.read_text().split(";\n")
        for start in range(0, sessions, SESSIONS_PER_BATCH):
            end = min(start + SESSIONS_PER_BATCH, sessions)
            _write(statements, {"seed": str(seed), "people": people, "start": start, "end": end})
            self.stdout.write(f"{end * EVENTS_PER_SESSION} events")
        recount_all_sessions()  # The running site counts recent events only.
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")  # autovacuum would do it a minute later


def _make_people(number: int, seed: int) -> list[int]:
    """Create people who cannot sign in; return their primary keys."""
    User = get_user_model()
    names = [f"sample-{seed}-{n:05d}" for n in range(number)]
    rows = [User(**{User.USERNAME_FIELD: name}, password="!") for name in names]  # noqa: S106 (no password)
    User._default_manager.bulk_create(rows, batch_size=1_000, ignore_conflicts=True)
    found = User._default_manager.filter(**{f"{User.USERNAME_FIELD}__in": names})
    return list(found.order_by(User.USERNAME_FIELD).values_list("pk", flat=True))


def _write(statements: list[str], parameters: dict[str, Any]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements:
            if statement.strip():
                cursor.execute(statement, parameters)
