"""`manage.py adk_import_session`: store the session of an archive of `adk_export`, checked by its hashes."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from sessions_app.data_protection.import_session import import_session
from sessions_app.management.site_command import SiteCommand, user_named


class Command(SiteCommand):
    """Import a session as a whole, or nothing."""

    help = "Import state, events and files of one session from a zip file that adk_export or the admin wrote."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", required=True, help="the person who gets the session, by user name")
        parser.add_argument("--unverified", action="store_true", help="accept masked or changed values")
        parser.add_argument("source", type=Path, help="the zip file")

    def handle(self, *args: Any, source: Path, **options: Any) -> None:
        """Write the id of the session, and reasons to doubt that it equals the original."""
        user = user_named(options["user"])
        imported = import_session(source, user.pk, allow_unverified=options["unverified"])
        words = imported.doubt or "Its log is the original one."
        self.stdout.write(f"Session {imported.session.pk} was imported. {words}")
