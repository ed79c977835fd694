"""`manage.py adk_export`: write a session or a person's data to a zip file or a directory."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.template.defaultfilters import pluralize

from sessions_app.data_protection.export import export_session, export_user
from sessions_app.management.site_command import SiteCommand, add_subject_arguments, user_named


class Command(SiteCommand):
    """Write an archive of a session or a user, with secrets masked."""

    help = "Write all that is stored of a session or a person to a zip file (a path with .zip) or a new directory."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_subject_arguments(parser)
        parser.add_argument("target", type=Path, help="the zip file or directory to create")

    def handle(self, *args: Any, target: Path, **options: Any) -> None:
        """Write the archive, then a summary."""
        if options["session"]:
            files = export_session(options["session"], target)
        else:
            files = export_user(user_named(options["user"]).pk, target)
        size = sum(file["size"] for file in files)
        self.stdout.write(f"{len(files)} file{pluralize(files)} with {size} bytes written to {target}.")
