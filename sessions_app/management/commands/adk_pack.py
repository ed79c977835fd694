"""`manage.py adk_pack`: move the events of unused sessions to files, as the daily housekeeping does, or back."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError
from django.template.defaultfilters import pluralize

from sessions_app.conf import conf
from sessions_app.data_protection.packing import pack_session, pack_unused_sessions, sessions_to_pack
from sessions_app.errors import LostPackError
from sessions_app.management.site_command import SiteCommand
from sessions_app.models import Session
from sessions_app.store.packs import open_pack


class Command(SiteCommand):
    """Pack the sessions that were not used for `pack_days`, or open packed sessions."""

    help = "Move the events of sessions that were not used for their app's pack_days to files, or bring them back."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--session", type=UUID, help="only the session with this id, whenever it was used"
        )
        parser.add_argument("--open", action="store_true", help="bring the events of packed sessions back")
        parser.add_argument("--dry-run", action="store_true", help="count only")

    def handle(self, *args: Any, session: UUID | None, open: bool, dry_run: bool, **options: Any) -> None:
        """Write the number of sessions."""
        if open:
            self._open(session, dry_run)
        elif session:
            if not pack_session(session):
                raise CommandError(
                    f"Session {session} is held, in use, packed or not there: it was not packed."
                )
            self.stdout.write("1 session packed.")
        elif dry_run:
            count = sum(sessions.count() for sessions in sessions_to_pack())
            most = conf().retention_batch
            self.stdout.write(
                f"{count} session{pluralize(count)} would be packed. A run packs at most {most}."
            )
        else:
            packed = pack_unused_sessions()
            self.stdout.write(f"{packed} session{pluralize(packed)} packed.")

    def _open(self, session_pk: UUID | None, dry_run: bool) -> None:
        sessions = Session.objects.filter(packed_at__isnull=False).order_by("pk")
        if session_pk:
            sessions = sessions.filter(pk=session_pk)
        count = sessions.count()
        if dry_run:
            self.stdout.write(f"{count} session{pluralize(count)} would be opened.")
            return
        lost = 0
        for session in sessions.only("pk", "packed_at").iterator():
            try:
                open_pack(session)
            except LostPackError:
                lost += 1
                self.stdout.write(f"session {session.pk}: its pack is missing or was changed")
        opened = count - lost
        summary = f"{opened} session{pluralize(opened)} opened."
        if lost:
            raise CommandError(f"{summary} {lost} pack{pluralize(lost)} lost.")
        self.stdout.write(summary)
