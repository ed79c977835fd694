"""`manage.py adk_export`: write a session or a person's data to a zip file or a directory."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import pluralize

from runtime.errors import AdkError
from sessions_app.data_protection.export import export_session, export_user
from sessions_app.management.subject import add_subject_arguments, user_pk_of


class Command(BaseCommand):
    """Write an archive of a session or a user, with secrets masked."""

    help = "Write all that is stored of a session or a person to a zip file (a path with .zip) or a new directory."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the subject and the target."""
        add_subject_arguments(parser)
        parser.add_argument("target", type=Path, help="the zip file or directory to create")

    def handle(self, *args: Any, target: Path, **options: Any) -> None:
        """Write the archive, then a summary."""
        try:
            if options["session"]:
                files = export_session(options["session"], target)
            else:
                files = export_user(user_pk_of(options["user"]), target)
        except AdkError as error:
            raise CommandError(str(error)) from error
        size = sum(file["size"] for file in files)
        self.stdout.write(f"{len(files)} file{pluralize(files)} with {size} bytes written to {target}.")
