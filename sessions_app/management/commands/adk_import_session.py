"""`manage.py adk_import_session`: store the session of an archive of `adk_export`, checked by its hashes."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runtime.errors import AdkError
from sessions_app.data_protection.import_session import import_session
from sessions_app.management.subject import user_pk_of


class Command(BaseCommand):
    """Import a session as a whole, or nothing."""

    help = "Import state, events and files of one session from a zip file that adk_export or the admin wrote."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the user, the file and the consent to a log that differs."""
        parser.add_argument("--user", required=True, help="the person who gets the session, by user name")
        parser.add_argument("--unverified", action="store_true", help="accept masked or changed values")
        parser.add_argument("source", type=Path, help="the zip file")

    def handle(self, *args: Any, source: Path, **options: Any) -> None:
        """Write the id of the session, and reasons to doubt that it equals the original."""
        try:
            allowed = options["unverified"]
            imported = import_session(source, user_pk_of(options["user"]), allow_unverified=allowed)
        except AdkError as error:
            raise CommandError(str(error)) from error
        words = imported.doubt or "Its log is the original one."
        self.stdout.write(f"Session {imported.session.pk} was imported. {words}")
