"""`manage.py adk_retain`: erase the sessions whose retention has ended, as the daily housekeeping does."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.template.defaultfilters import pluralize

from sessions_app.conf import conf
from sessions_app.data_protection.retain import erase_expired_sessions, expired_sessions


class Command(BaseCommand):
    """Erase sessions older than the setting `retention_days`, or count them."""

    help = "Erase sessions that were not used for longer than their app's retention_days."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count only")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write one line for each reason in a dry run, else the number of erased sessions."""
        if options["dry_run"]:
            for reason, sessions in expired_sessions():
                count = sessions.count()
                self.stdout.write(f"{count} session{pluralize(count)} {reason} would be erased.")
            most = conf().retention_batch
            self.stdout.write(f"Nothing was erased. A run erases at most {most} session{pluralize(most)}.")
            return
        erased = erase_expired_sessions()
        self.stdout.write(f"{erased} session{pluralize(erased)} erased.")
