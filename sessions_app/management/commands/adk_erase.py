"""`manage.py adk_erase`: erase a session or a person; without `--yes`, only count."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any
from uuid import UUID

from sessions_app.base.actors import SITE
from sessions_app.data_protection.erase import ErasureOrder, erase_session, erase_user
from sessions_app.data_protection.personal_data import as_text, count_rows_of_sessions, count_rows_of_user
from sessions_app.errors import NotFoundError
from sessions_app.management.site_command import SiteCommand, add_subject_arguments, user_named
from sessions_app.models import LegalHold, Session, Tombstone
from sessions_app.store.erasing import refuse_if_held


class Command(SiteCommand):
    """Erase a session or a user. Run it again to complete an interrupted erasure."""

    help = "Erase a session, or a person with the account. The default is a dry run, which only counts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_subject_arguments(parser)
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument("--dry-run", action="store_true", help="count only; this is the default")
        mode.add_argument("--yes", action="store_true", help="erase")
        reason = "Requested by manage.py adk_erase."
        parser.add_argument("--reason", default=reason, help="kept in the tombstone")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the counts; with `--yes`, erase."""
        if options["session"]:
            self._erase_session(options["session"], options)
        else:
            self._erase_person(user_named(options["user"]).pk, options)

    def _erase_session(self, session_pk: UUID, options: dict[str, Any]) -> None:
        session = Session.objects.filter(pk=session_pk).first()
        if session is None:
            raise NotFoundError(f"There is no session '{session_pk}'.")
        # Before the dry run as well: it should not promise an erasure that is refused.
        refuse_if_held(LegalHold.objects.of_session(session_pk, session.user_id))
        if options["yes"]:
            self._report(erase_session(session_pk, ErasureOrder(options["reason"], staff=SITE)))
        else:
            self._report_dry_run(count_rows_of_sessions(Session.objects.filter(pk=session_pk)))

    def _erase_person(self, user_pk: Any, options: dict[str, Any]) -> None:
        refuse_if_held(LegalHold.objects.of_user(user_pk))
        if options["yes"]:
            self._report(erase_user(user_pk, ErasureOrder(options["reason"], staff=SITE)))
        else:
            self._report_dry_run(count_rows_of_user(user_pk))

    def _report_dry_run(self, counts: Counter[str]) -> None:
        self.stdout.write(f"Would erase {as_text(counts)}. Nothing was erased: repeat with --yes.")

    def _report(self, tombstone: Tombstone) -> None:
        self.stdout.write(f"Erased {as_text(tombstone.counts)}: tombstone {tombstone.pk}.")
