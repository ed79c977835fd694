"""`manage.py adk_verify`: check event logs against their hash chains."""

from __future__ import annotations

from argparse import ArgumentParser
from itertools import islice
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import pluralize

from sessions_app.history.integrity import flaws
from sessions_app.models import Session

SESSIONS_PER_QUERY = 200


class Command(BaseCommand):
    """Check the logs of sessions. The exit code is 1 if a log differs from what was written."""

    help = "Check that no event was changed, removed, added or moved since the site wrote it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--session", type=UUID, help="only the session with this id")
        parser.add_argument("--app", help="only sessions with this app")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write one line for each flaw, then a summary."""
        sessions = Session.objects.order_by("pk")
        if options["session"]:
            sessions = sessions.filter(pk=options["session"])
        if options["app"]:
            sessions = sessions.filter(app_name=options["app"])
        ids = sessions.values_list("pk", flat=True).iterator()
        checked = flawed = 0
        while batch := list(islice(ids, SESSIONS_PER_QUERY)):
            checked += len(batch)
            for flaw in flaws(batch):
                flawed += 1
                self.stdout.write(f"session {flaw.session_id}, event {flaw.seq}: {flaw.problem}")
        summary = f"{checked} session{pluralize(checked)} checked, {flawed} not as they were written."
        if flawed:
            raise CommandError(summary)
        self.stdout.write(summary)
